#include "tasks/dnn/onnx/onnx_reader.hpp"

#include "config/content.hpp"
#include "config/files.hpp"
#include "config/text.hpp"
#include "tasks/dnn/graph/half.hpp"
#include "tasks/dnn/onnx/external_data.hpp"
#include "tasks/dnn/onnx/shape_rules.hpp"
#include "tasks/dnn/onnx/source.hpp"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wold-style-cast"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include <onnx/onnx_pb.h>
#pragma GCC diagnostic pop

#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>
#include <cstring>
#include <limits>

namespace rtexec::tasks {
namespace {

using onnx_source::Attribute;
using onnx_source::Constant;
using onnx_source::element_type;
using onnx_source::ExternalData;
using onnx_source::Refusal;
using onnx_source::supported_types;
using onnx_source::type_name;
using onnx_source::Unreadable;

static_assert(std::endian::native == std::endian::little, "raw tensor data is little-endian and is copied as it is");

[[noreturn]] void bad(std::string message) { throw Refusal(Errc::bad_input, std::move(message)); }
[[noreturn]] void unsupported(std::string message) { throw Refusal(Errc::unsupported, std::move(message)); }

/// The shape of a constant and its number of elements, 0 included.
std::pair<Shape, std::size_t> constant_shape(const onnx::TensorProto& tensor, const std::string& what) {
  Shape shape(tensor.dims().begin(), tensor.dims().end());
  std::int64_t count = 1;
  for (const auto dimension : shape) {
    if (dimension < 0 || dimension > max_elements) bad(what + " has a dimension of " + std::to_string(dimension));
    count *= dimension;
    if (count > max_elements) unsupported(what + " has more than " + std::to_string(max_elements) + " elements");
  }
  return {std::move(shape), static_cast<std::size_t>(count)};
}

template <class Value, class Stored>
std::vector<Value> from_bytes(std::span<const std::byte> raw, std::size_t count, const std::string& what) {
  if (raw.size() != count * sizeof(Stored))
    bad(what + " needs " + std::to_string(count * sizeof(Stored)) + " bytes for its shape but holds " +
        std::to_string(raw.size()));
  std::vector<Value> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    Stored stored;
    std::memcpy(&stored, raw.data() + i * sizeof(Stored), sizeof(Stored));
    values[i] = static_cast<Value>(stored);
  }
  return values;
}

bool is_external(const onnx::TensorProto& tensor) {
  return tensor.data_location() == onnx::TensorProto::EXTERNAL || tensor.external_data_size() > 0;
}

/// `count` values of type Stored, from another file, the raw bytes or else the typed field, converted to Value.
template <class Value, class Stored, class Field>
std::vector<Value> read_values(const onnx::TensorProto& tensor, const Field& field, std::size_t count,
                               const std::string& what, ExternalData& files) {
  if (is_external(tensor)) {
    ExternalData::Keys keys;
    for (const auto& entry : tensor.external_data())
      if (!keys.emplace(entry.key(), entry.value()).second)
        bad(what + " says " + config::quoted(entry.key()) + " of its data file twice");
    return from_bytes<Value, Stored>(files.read(keys, count * sizeof(Stored), what), count, what);
  }
  if (tensor.has_raw_data()) return from_bytes<Value, Stored>(std::as_bytes(std::span(tensor.raw_data())), count, what);
  if (static_cast<std::size_t>(field.size()) != count)
    bad(what + " needs " + std::to_string(count) + " values for its shape but holds " + std::to_string(field.size()));
  std::vector<Value> values;
  values.reserve(count);
  for (const auto value : field) values.push_back(static_cast<Value>(value));
  return values;
}

float from_bfloat16(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

float narrow(double value) {
  constexpr double limit = std::numeric_limits<float>::max();
  return static_cast<float>(
      value > limit || value < -limit ? std::copysign(std::numeric_limits<double>::infinity(), value) : value);
}

Constant read_constant(const onnx::TensorProto& tensor, const std::string& what, ExternalData& files) {
  if (is_external(tensor) && tensor.has_raw_data()) bad(what + " has its data both in the model and in another file");
  if (tensor.has_segment()) unsupported(what + " is stored in segments");
  auto [shape, count] = constant_shape(tensor, what);
  using Ints = std::int64_t;
  switch (tensor.data_type()) {
  case onnx::TensorProto::FLOAT:
    return {std::move(shape), read_values<float, float>(tensor, tensor.float_data(), count, what, files)};
  case onnx::TensorProto::DOUBLE: {
    const auto doubles = read_values<double, double>(tensor, tensor.double_data(), count, what, files);
    std::vector<float> floats(count);
    std::ranges::transform(doubles, floats.begin(), narrow);
    return {std::move(shape), std::move(floats)};
  }
  case onnx::TensorProto::FLOAT16:
  case onnx::TensorProto::BFLOAT16: {
    const auto halves = read_values<std::uint16_t, std::uint16_t>(tensor, tensor.int32_data(), count, what, files);
    std::vector<float> floats(count);
    std::ranges::transform(halves, floats.begin(),
                           tensor.data_type() == onnx::TensorProto::FLOAT16 ? from_half : from_bfloat16);
    return {std::move(shape), std::move(floats)};
  }
  case onnx::TensorProto::INT64:
    return {std::move(shape), read_values<Ints, std::int64_t>(tensor, tensor.int64_data(), count, what, files)};
  case onnx::TensorProto::INT32:
    return {std::move(shape), read_values<Ints, std::int32_t>(tensor, tensor.int32_data(), count, what, files),
            ElementType::int32};
  case onnx::TensorProto::INT8:
    return {std::move(shape), read_values<Ints, std::int8_t>(tensor, tensor.int32_data(), count, what, files),
            ElementType::int8};
  case onnx::TensorProto::INT16:
    return {std::move(shape), read_values<Ints, std::int16_t>(tensor, tensor.int32_data(), count, what, files),
            ElementType::int16};
  case onnx::TensorProto::UINT16:
    return {std::move(shape), read_values<Ints, std::uint16_t>(tensor, tensor.int32_data(), count, what, files),
            ElementType::uint16};
  case onnx::TensorProto::UINT32:
    return {std::move(shape), read_values<Ints, std::uint32_t>(tensor, tensor.uint64_data(), count, what, files),
            ElementType::uint32};
  case onnx::TensorProto::UINT64:
    return {std::move(shape), read_values<Ints, std::uint64_t>(tensor, tensor.uint64_data(), count, what, files),
            ElementType::uint64};
  case onnx::TensorProto::UINT8:
  case onnx::TensorProto::BOOL:
    return {std::move(shape), read_values<Ints, std::uint8_t>(tensor, tensor.int32_data(), count, what, files),
            tensor.data_type() == onnx::TensorProto::BOOL ? ElementType::boolean : ElementType::uint8};
  default: unsupported(what + " is of type " + type_name(tensor.data_type()) + "; supported: " + supported_types);
  }
}

/// Where the tensor cannot be supported, why, as it stands behind `what`: for those who read it to tell.
std::variant<Constant, Unreadable> try_constant(const onnx::TensorProto& tensor, const std::string& what,
                                                ExternalData& files) {
  try {
    return read_constant(tensor, what, files);
  } catch (const Refusal& refusal) {
    if (refusal.code != Errc::unsupported) throw;
    return Unreadable{refusal.text.substr(what.size())};
  }
}

Attribute attribute_of(std::variant<Constant, Unreadable> read) {
  if (auto* constant = std::get_if<Constant>(&read)) return std::make_shared<const Constant>(std::move(*constant));
  return std::get<Unreadable>(std::move(read));
}

std::shared_ptr<const onnx_source::Subgraph> read_subgraph(const onnx::GraphProto& graph, const std::string& file,
                                                           ExternalData& files);

Attribute read_attribute(const onnx::AttributeProto& attribute, const std::string& what, const std::string& file,
                         ExternalData& files) {
  using Proto = onnx::AttributeProto;
  if (!attribute.ref_attr_name().empty()) return Unreadable{" refers to a function's attribute"};
  switch (attribute.type()) {
  case Proto::INT: return attribute.i();
  case Proto::FLOAT: return attribute.f();
  case Proto::STRING: return attribute.s();
  case Proto::INTS: return std::vector<std::int64_t>(attribute.ints().begin(), attribute.ints().end());
  case Proto::FLOATS: return std::vector<float>(attribute.floats().begin(), attribute.floats().end());
  case Proto::STRINGS: return std::vector<std::string>(attribute.strings().begin(), attribute.strings().end());
  case Proto::TENSOR: return attribute_of(try_constant(attribute.t(), what, files));
  case Proto::GRAPH:
    if (attribute.g().sparse_initializer_size() == 0) return read_subgraph(attribute.g(), file, files);
    [[fallthrough]];
  case Proto::GRAPHS: return Unreadable{" is a graph of its own"};
  default:
    return Unreadable{" is of a type that is not supported; supported: numbers, lists of numbers, text, a tensor"};
  }
}

onnx_source::Node read_node(const onnx::NodeProto& proto, const std::string& file, ExternalData& files) {
  onnx_source::Node node{proto.name(),
                         proto.op_type(),
                         {proto.input().begin(), proto.input().end()},
                         {proto.output().begin(), proto.output().end()},
                         {}};
  if (node.name.empty() && !node.outputs.empty()) node.name = node.outputs.front();
  if (!proto.domain().empty() && proto.domain() != "ai.onnx") node.type = proto.domain() + "." + node.type;
  for (const auto& attribute : proto.attribute()) {
    const auto what = file + ": attribute " + config::quoted(attribute.name()) + " of node " +
                      config::quoted(node.name) + " (" + config::printable(node.type) + ")";
    if (!node.attributes.emplace(attribute.name(), read_attribute(attribute, what, file, files)).second)
      bad(what + " is given twice");
  }
  return node;
}

onnx_source::Initialisers read_initialisers(const onnx::GraphProto& graph, const std::string& file,
                                            ExternalData& files) {
  onnx_source::Initialisers all;
  for (const auto& tensor : graph.initializer()) {
    const auto what = file + ": initialiser " + config::quoted(tensor.name());
    if (!all.emplace(tensor.name(), try_constant(tensor, what, files)).second) bad(what + " is given twice");
  }
  return all;
}

std::shared_ptr<const onnx_source::Subgraph> read_subgraph(const onnx::GraphProto& graph, const std::string& file,
                                                           ExternalData& files) {
  auto subgraph = std::make_shared<onnx_source::Subgraph>();
  for (const auto& input : graph.input()) subgraph->inputs.push_back(input.name());
  for (const auto& output : graph.output()) subgraph->outputs.push_back(output.name());
  subgraph->initialisers = read_initialisers(graph, file, files);
  for (const auto& node : graph.node()) subgraph->nodes.push_back(read_node(node, file, files));
  return subgraph;
}

[[noreturn]] void refuse_type(const std::string& what, int type) {
  unsupported(what + " is of type " + type_name(type) + "; supported: " + supported_types);
}

/// Some exporters write "?" or "-1" where they know no name.
std::string symbol_of(const std::string& name) {
  const bool names = std::ranges::any_of(name, [](unsigned char c) { return std::isalpha(c) != 0 || c >= 0x80; });
  return names && name != "None" ? name : "";
}

onnx_source::Input read_input(const onnx::ValueInfoProto& proto, const std::string& file) {
  const auto what = file + ": input " + config::quoted(proto.name());
  if (!proto.type().has_tensor_type()) unsupported(what + " is not a tensor");
  const auto& type = proto.type().tensor_type();
  const auto element = element_type(type.elem_type());
  if (!element) refuse_type(what, type.elem_type());
  onnx_source::Input input{proto.name(), *element, {}, type.has_shape()};
  for (const auto& dimension : type.shape().dim()) {
    if (dimension.has_dim_value() && dimension.dim_value() == 0) bad(what + " has a dimension of 0");
    input.shape.push_back({std::max<std::int64_t>(dimension.dim_value(), 0), symbol_of(dimension.dim_param())});
  }
  return input;
}

/// An output, and what writes it.
std::string described_output(const onnx::GraphProto& graph, const std::string& name, const std::string& file) {
  for (const auto& node : graph.node())
    if (std::ranges::find(node.output(), name) != node.output().end())
      return file + ": node " + config::quoted(node.name()) + " (" + config::printable(node.op_type()) + "): output " +
             config::quoted(name);
  return file + ": output " + config::quoted(name);
}

onnx_source::Output read_output(const onnx::ValueInfoProto& proto, const onnx::GraphProto& graph,
                                const std::string& file, std::vector<std::string>& notes) {
  const int type = proto.type().tensor_type().elem_type();
  if (type == onnx::TensorProto::UNDEFINED) return {proto.name(), {}};
  if (type == onnx::TensorProto::DOUBLE)
    notes.push_back("output " + config::quoted(proto.name()) + " is of type DOUBLE: it is computed in float32");
  const auto element = element_type(type);
  if (!element) refuse_type(described_output(graph, proto.name(), file), type);
  return {proto.name(), element};
}

std::int64_t read_opset(const onnx::ModelProto& model, const std::string& file) {
  for (const auto& import : model.opset_import()) {
    if (!import.domain().empty() && import.domain() != "ai.onnx") continue;
    if (import.version() < oldest_opset || import.version() > newest_opset)
      unsupported(file + ": opset " + std::to_string(import.version()) +
                  " is not supported; export or convert the model to an opset from " + std::to_string(oldest_opset) +
                  " to " + std::to_string(newest_opset));
    return import.version();
  }
  std::string named;
  for (const auto& import : model.opset_import())
    named += (named.empty() ? "" : ", ") + config::printable(import.domain());
  if (!named.empty())
    unsupported(file + ": it has operators of " + named +
                " only, which are not supported: networks are of operators of ONNX itself (domain ai.onnx)");
  bad(file + ": no opset is named; the file is not an ONNX model, or it is damaged");
}

onnx_source::Model read_model(std::span<const std::byte> bytes, std::string_view name, ExternalData& files) {
  onnx_source::Model model;
  model.file = name;
  const std::string& file = model.file;
  onnx::ModelProto proto;
  if (bytes.empty()) bad(file + ": the file is empty");
  if (bytes.size() > max_onnx_file) unsupported(file + ": the file is larger than 2 GiB");
  if (!proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    bad(file + ": not an ONNX model, or damaged: its protobuf encoding does not parse");
  if (!proto.has_graph()) bad(file + ": not an ONNX model, or damaged: it has no graph");
  model.opset = read_opset(proto, file);
  const auto& graph = proto.graph();
  model.name = graph.name();
  for (const auto& property : proto.metadata_props()) model.metadata[property.key()] = property.value();
  if (graph.sparse_initializer_size() > 0) unsupported(file + ": sparse initialisers are not supported");
  model.initialisers = read_initialisers(graph, file, files);
  for (const auto& input : graph.input())
    if (!model.initialisers.contains(input.name())) model.inputs.push_back(read_input(input, file));
  for (const auto& output : graph.output()) model.outputs.push_back(read_output(output, graph, file, model.notes));
  for (const auto& node : graph.node()) model.nodes.push_back(read_node(node, file, files));
  return model;
}

} // namespace

Result<Graph> parse_onnx(std::span<const std::byte> bytes, std::string_view name,
                         const std::optional<std::filesystem::path>& folder, const GivenInputs& given,
                         const BytesObserver& seen) {
  try {
    ExternalData files(folder, max_onnx_file, seen);
    auto model = read_model(bytes, name, files);
    model.given = given;
    return onnx_source::lower(std::move(model));
  } catch (const Refusal& refusal) { return fail(refusal.code, refusal.text); } catch (const std::bad_alloc&) {
    return fail(Errc::out_of_memory, std::string(name) + ": there is not enough memory to read this model");
  }
}

Result<Graph> read_onnx(const std::filesystem::path& file, const GivenInputs& given, const BytesObserver& seen) {
  const auto content = config::read_file(file, max_onnx_file);
  if (!content) return Unexpected(content.error());
  if (auto other = config::mistaken(file, *content, config::Content::onnx)) return Unexpected(std::move(*other));
  const auto bytes = std::as_bytes(std::span(*content));
  if (seen) seen(bytes);
  return parse_onnx(bytes, file.string(), file.has_parent_path() ? file.parent_path() : std::filesystem::path("."),
                    given, seen);
}

} // namespace rtexec::tasks
