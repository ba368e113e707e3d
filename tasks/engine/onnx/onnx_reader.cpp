#include "tasks/engine/onnx/onnx_reader.hpp"

#include "config/content.hpp"
#include "config/base/files.hpp"
#include "config/base/text.hpp"
#include "hal/open/available_memory.hpp"
#include "tasks/base/half.hpp"
#include "tasks/engine/onnx/external_data.hpp"
#include "tasks/engine/onnx/shape_rules.hpp"
#include "tasks/engine/onnx/model_source.hpp"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wold-style-cast"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/unknown_field_set.h>
#include <onnx/onnx_pb.h>
#pragma GCC diagnostic pop

#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <type_traits>

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

/// Returns the shape of a constant and its number of elements. A dimension of 0 counts as 1 when the number of elements
/// is checked against its limit, so that products of dimensions do not overflow.
std::pair<Shape, std::size_t> constant_shape(const onnx::TensorProto& tensor, const std::string& what) {
  Shape shape(tensor.dims().begin(), tensor.dims().end());
  std::int64_t extent = 1;
  for (const auto dimension : shape) {
    if (dimension < 0 || dimension > max_elements) bad(what + " has a dimension of " + std::to_string(dimension));
    extent *= std::max<std::int64_t>(dimension, 1);
    if (extent > max_elements) unsupported(what + " has more than " + std::to_string(max_elements) + " elements");
  }
  const auto count = element_count(shape);
  return {std::move(shape), static_cast<std::size_t>(count)};
}

bool is_external(const onnx::TensorProto& tensor) {
  return tensor.data_location() == onnx::TensorProto::EXTERNAL || tensor.external_data_size() > 0;
}

ExternalData::Keys external_keys(const onnx::TensorProto& tensor, const std::string& what) {
  ExternalData::Keys keys;
  for (const auto& entry : tensor.external_data())
    if (!keys.emplace(entry.key(), entry.value()).second)
      bad(what + " says " + config::quoted(entry.key()) + " of its data file twice");
  return keys;
}

/// The state of reading data from other files.
struct Files {
  ExternalData data;
  std::map<std::string, std::shared_ptr<Constant>> initialisers = {}; // by the serialised TensorProto without its name
};

/// Calls `take` with the bytes of the elements, one part after another, if the bytes are external or raw data. Returns
/// false if the elements are in a typed field instead, which has `values` elements.
template <class Take>
bool take_raw(const onnx::TensorProto& tensor, std::size_t count, std::size_t size, int values, const std::string& what,
              Files& files, const Take& take) {
  if (is_external(tensor)) {
    files.data.read(external_keys(tensor, what), count * size, what, take);
    return true;
  }
  const auto differs = [&](const char* unit, std::size_t needed, std::size_t held) {
    bad(what + " needs " + std::to_string(needed) + unit + " for its shape but holds " + std::to_string(held) +
        "; the model is damaged, export it again");
  };
  if (!tensor.has_raw_data()) {
    if (static_cast<std::size_t>(values) != count) differs(" values", count, static_cast<std::size_t>(values));
    return false;
  }
  const auto raw = std::as_bytes(std::span(tensor.raw_data()));
  if (raw.size() != count * size) differs(" bytes", count * size, raw.size());
  take(raw);
  return true;
}

/// Returns `count` elements of a tensor as values of type Stored. `field` is the tensor's typed field.
template <class Stored, class Field>
std::vector<Stored> read_values(const onnx::TensorProto& tensor, const Field& field, std::size_t count,
                                const std::string& what, Files& files) {
  std::vector<Stored> values;
  const auto append = [&](std::span<const std::byte> raw) {
    values.reserve(count);
    const auto first = values.size();
    values.resize(first + raw.size() / sizeof(Stored));
    std::memcpy(values.data() + first, raw.data(), raw.size());
  };
  if (take_raw(tensor, count, sizeof(Stored), field.size(), what, files, append)) return values;
  values.reserve(count);
  for (const auto value : field) values.push_back(static_cast<Stored>(value));
  return values;
}

template <class Field>
Integers read_integers(const onnx::TensorProto& tensor, ElementType type, const Field& field, std::size_t count,
                       const std::string& what, Files& files) {
  Integers values;
  std::size_t read = 0;
  const auto append = [&](std::span<const std::byte> raw) {
    if (read == 0) values = Integers(type, count);
    std::ranges::copy(raw, values.bytes().begin() + static_cast<std::ptrdiff_t>(read));
    read += raw.size();
  };
  const bool raw = take_raw(tensor, count, size_of(type), field.size(), what, files, append);
  if (values.size() != count || values.type() != type) values = Integers(type, count);
  for (int i = 0; !raw && i < field.size(); ++i)
    values.set(static_cast<std::size_t>(i), static_cast<std::int64_t>(field[i]));
  for (std::size_t i = 0; type == ElementType::boolean && i < count; ++i) values.set(i, values[i]);
  return values;
}

float from_bfloat16(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

float narrow(double value) {
  constexpr double limit = std::numeric_limits<float>::max();
  return static_cast<float>(
      value > limit || value < -limit ? std::copysign(std::numeric_limits<double>::infinity(), value) : value);
}

Constant read_constant(const onnx::TensorProto& tensor, const std::string& what, Files& files) {
  if (is_external(tensor) && tensor.has_raw_data()) bad(what + " has its data both in the model and in another file");
  if (tensor.has_segment()) unsupported(what + " is stored in segments; save it in one piece");
  auto [shape, count] = constant_shape(tensor, what);
  const auto integers = [&, count = count, &shape = shape](const auto& field) {
    const auto type = element_type(tensor.data_type()).value_or(ElementType::int64);
    return Constant{std::move(shape), read_integers(tensor, type, field, count, what, files)};
  };
  switch (tensor.data_type()) {
  case onnx::TensorProto::FLOAT:
    return {std::move(shape), read_values<float>(tensor, tensor.float_data(), count, what, files)};
  case onnx::TensorProto::DOUBLE: {
    const auto doubles = read_values<double>(tensor, tensor.double_data(), count, what, files);
    std::vector<float> floats(count);
    std::ranges::transform(doubles, floats.begin(), narrow);
    return {std::move(shape), std::move(floats)};
  }
  case onnx::TensorProto::FLOAT16:
  case onnx::TensorProto::BFLOAT16: {
    const auto halves = read_values<std::uint16_t>(tensor, tensor.int32_data(), count, what, files);
    std::vector<float> floats(count);
    std::ranges::transform(halves, floats.begin(),
                           tensor.data_type() == onnx::TensorProto::FLOAT16 ? from_half : from_bfloat16);
    return {std::move(shape), std::move(floats)};
  }
  case onnx::TensorProto::INT64: return integers(tensor.int64_data());
  case onnx::TensorProto::UINT32:
  case onnx::TensorProto::UINT64: return integers(tensor.uint64_data());
  case onnx::TensorProto::INT8:
  case onnx::TensorProto::UINT8:
  case onnx::TensorProto::INT16:
  case onnx::TensorProto::UINT16:
  case onnx::TensorProto::INT32:
  case onnx::TensorProto::BOOL: return integers(tensor.int32_data());
  default: unsupported(what + " is of type " + type_name(tensor.data_type()) + "; supported: " + supported_types);
  }
}

/// Returns a sparse constant: its non-zero values and their row-major indices.
Constant read_constant(const onnx::SparseTensorProto& tensor, const std::string& what, Files& files) {
  onnx::TensorProto dense; // a dense tensor of the same shape, for the checks of constant_shape()
  *dense.mutable_dims() = tensor.dims();
  auto shape = constant_shape(dense, what).first;
  auto constant = read_constant(tensor.values(), what, files);
  const auto indices = read_constant(tensor.indices(), what, files);
  const auto* places = std::get_if<Integers>(&indices.values);
  const auto rank = std::ssize(shape), count = element_count(constant.shape);
  if (!places || (indices.shape != Shape{count} && indices.shape != Shape{count, rank}))
    bad(what + " needs one index for each of its " + std::to_string(count) + " values");
  const auto strides = indices.shape.size() == 1 ? std::vector<std::int64_t>{1} : dense_strides(shape);
  constant.places.emplace();
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t place = 0;
    for (std::size_t d = 0; d < strides.size(); ++d) {
      const auto index = (*places)[static_cast<std::size_t>(i) * strides.size() + d];
      if (index < 0 || index >= (indices.shape.size() == 1 ? element_count(shape) : shape[d]))
        bad(what + " has the index " + std::to_string(index) + ", which lies outside of its shape " + to_string(shape));
      place += index * strides[d];
    }
    constant.places->push_back(place);
  }
  constant.shape = std::move(shape);
  return constant;
}

/// Returns the constant. If the constant is not supported, returns the reason without its prefix `what`; the reason is
/// reported only if a node reads the constant.
template <class Proto>
std::variant<Constant, Unreadable> try_constant(const Proto& tensor, const std::string& what, Files& files) {
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
                                                           Files& files);

Attribute read_attribute(const onnx::AttributeProto& attribute, const std::string& what, const std::string& file,
                         Files& files) {
  using Proto = onnx::AttributeProto;
  if (!attribute.ref_attr_name().empty()) return onnx_source::Reference{attribute.ref_attr_name()};
  switch (attribute.type()) {
  case Proto::INT: return attribute.i();
  case Proto::FLOAT: return attribute.f();
  case Proto::STRING: return attribute.s();
  case Proto::INTS: return std::vector<std::int64_t>(attribute.ints().begin(), attribute.ints().end());
  case Proto::FLOATS: return std::vector<float>(attribute.floats().begin(), attribute.floats().end());
  case Proto::STRINGS: return std::vector<std::string>(attribute.strings().begin(), attribute.strings().end());
  case Proto::TENSOR: return attribute_of(try_constant(attribute.t(), what, files));
  case Proto::SPARSE_TENSOR: return attribute_of(try_constant(attribute.sparse_tensor(), what, files));
  case Proto::GRAPH: return read_subgraph(attribute.g(), file, files);
  default:
    return Unreadable{
        " is of a type that is not supported; supported: numbers, lists of numbers, text, a tensor, a "
        "graph. Write the node without it"};
  }
}

/// The numbers of fields that versions 1.13 and 1.16 of ONNX added to onnx.proto. The headers of older releases do not
/// have these fields.
constexpr int overload_of_node = 8, defaults_of_function = 11, overload_of_function = 13;

template <class Visit> void each_field(const google::protobuf::Message& message, int number, const Visit& visit) {
  const auto& reflection = *message.GetReflection();
  if (const auto* field = message.GetDescriptor()->FindFieldByNumber(number)) {
    if (!field->is_repeated()) return visit(reflection.GetString(message, field));
    for (int i = 0; i < reflection.FieldSize(message, field); ++i)
      visit(reflection.GetRepeatedMessage(message, field, i).SerializeAsString());
    return;
  }
  const auto& unknown = reflection.GetUnknownFields(message);
  for (int i = 0; i < unknown.field_count(); ++i)
    if (unknown.field(i).number() == number &&
        unknown.field(i).type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED)
      visit(unknown.field(i).length_delimited());
}

std::string text_field(const google::protobuf::Message& message, int number) {
  std::string text;
  each_field(message, number, [&](const std::string& value) { text = value; });
  return text;
}

bool is_onnx(const std::string& domain) { return domain.empty() || domain == "ai.onnx"; }

/// Returns the name of a node's operator or function, which consists of domain, name and overload.
std::string type_of(const std::string& domain, const std::string& name, const std::string& overload) {
  return (is_onnx(domain) ? "" : domain + ".") + name + (overload.empty() ? "" : ":" + overload);
}

onnx_source::Node read_node(const onnx::NodeProto& proto, const std::string& file, Files& files) {
  onnx_source::Node node{proto.name(),
                         proto.op_type(),
                         {proto.input().begin(), proto.input().end()},
                         {proto.output().begin(), proto.output().end()},
                         {}};
  if (node.name.empty() && !node.outputs.empty()) node.name = node.outputs.front();
  node.type = type_of(proto.domain(), proto.op_type(), text_field(proto, overload_of_node));
  for (const auto& attribute : proto.attribute()) {
    const auto what = file + ": attribute " + config::quoted(attribute.name()) + " of node " +
                      config::quoted(node.name) + " (" + config::printable(node.type) + ")";
    if (!node.attributes.emplace(attribute.name(), read_attribute(attribute, what, file, files)).second)
      bad(what + " is given twice");
  }
  return node;
}

using Initialiser = onnx_source::Initialisers::mapped_type;

Initialiser shared(std::variant<Constant, Unreadable> read) {
  if (auto* constant = std::get_if<Constant>(&read)) return std::make_shared<Constant>(std::move(*constant));
  return std::get<Unreadable>(std::move(read));
}

/// Returns an initialiser. All external initialisers with the same type, shape and data range of a file share one
/// constant.
Initialiser read_initialiser(const onnx::TensorProto& tensor, const std::string& what, Files& files) {
  if (!is_external(tensor)) return shared(try_constant(tensor, what, files));
  auto unnamed = tensor;
  unnamed.clear_name();
  unnamed.clear_doc_string();
  const auto key = unnamed.SerializeAsString();
  if (const auto found = files.initialisers.find(key); found != files.initialisers.end()) return found->second;
  auto read = shared(try_constant(tensor, what, files));
  if (const auto* constant = std::get_if<std::shared_ptr<Constant>>(&read)) files.initialisers.emplace(key, *constant);
  return read;
}

/// Reads all initialisers of a graph. Frees the raw data of each tensor once it is read, unless the graph is const.
template <class GraphProto>
onnx_source::Initialisers read_initialisers(GraphProto& graph, const std::string& file, Files& files) {
  onnx_source::Initialisers all;
  for (int i = 0; i < graph.initializer_size(); ++i) {
    const auto& tensor = graph.initializer(i);
    const auto what = file + ": initialiser " + config::quoted(tensor.name());
    if (!all.emplace(tensor.name(), read_initialiser(tensor, what, files)).second) bad(what + " is given twice");
    if constexpr (!std::is_const_v<GraphProto>)
      const std::unique_ptr<std::string> freed(graph.mutable_initializer(i)->release_raw_data());
  }
  for (const auto& tensor : graph.sparse_initializer()) {
    const auto what = file + ": initialiser " + config::quoted(tensor.values().name());
    if (!all.emplace(tensor.values().name(), shared(try_constant(tensor, what, files))).second)
      bad(what + " is given twice");
  }
  return all;
}

std::shared_ptr<const onnx_source::Subgraph> read_subgraph(const onnx::GraphProto& graph, const std::string& file,
                                                           Files& files) {
  auto subgraph = std::make_shared<onnx_source::Subgraph>();
  for (const auto& input : graph.input()) subgraph->inputs.push_back(input.name());
  for (const auto& output : graph.output()) subgraph->outputs.push_back(output.name());
  subgraph->initialisers = read_initialisers(graph, file, files);
  for (const auto& node : graph.node()) subgraph->nodes.push_back(read_node(node, file, files));
  return subgraph;
}

onnx_source::LocalFunction read_function(const onnx::FunctionProto& proto, const std::string& file, Files& files) {
  onnx_source::LocalFunction function{{proto.input().begin(), proto.input().end()},
                                      {proto.output().begin(), proto.output().end()},
                                      {proto.attribute().begin(), proto.attribute().end()},
                                      {},
                                      0,
                                      {}};
  each_field(proto, defaults_of_function, [&](const std::string& encoded) {
    onnx::AttributeProto value;
    const auto what = file + ": an attribute of function " + config::quoted(proto.name());
    if (!value.ParseFromString(encoded)) bad(what + " is damaged: its protobuf encoding does not parse");
    function.defaults.emplace(value.name(), read_attribute(value, what, file, files));
  });
  for (const auto& import : proto.opset_import())
    if (is_onnx(import.domain())) function.opset = import.version();
  for (const auto& node : proto.node()) function.nodes.push_back(read_node(node, file, files));
  return function;
}

onnx_source::LocalFunctions read_functions(const onnx::ModelProto& model, const std::string& file, Files& files) {
  onnx_source::LocalFunctions functions;
  const bool names_opset =
      std::ranges::any_of(model.opset_import(), [](const auto& import) { return is_onnx(import.domain()); });
  for (const auto& proto : model.functions()) {
    auto function = read_function(proto, file, files);
    // An opset of 0 selects the model's opset for the function. This is correct, because ONNX requires that an operator
    // has the same meaning in the opsets of the function and of the model.
    if (names_opset) function.opset = 0;
    const auto type = type_of(proto.domain(), proto.name(), text_field(proto, overload_of_function));
    if (!functions.emplace(type, std::move(function)).second)
      bad(file + ": function " + config::quoted(type) + " occurs twice; give each a name of its own");
  }
  return functions;
}

[[noreturn]] void refuse_type(const std::string& what, int type) {
  unsupported(what + " is of type " + type_name(type) + "; supported: " + supported_types);
}

/// Returns the name of an open dimension (the file does not specify its size). Returns "" for a placeholder such as "?"
/// or "-1", which some exporters write if the dimension has no name.
std::string symbol_of(const std::string& name) {
  const bool names = std::ranges::any_of(name, [](unsigned char c) { return std::isalpha(c) != 0 || c >= 0x80; });
  return names && name != "None" ? name : "";
}

onnx_source::Input read_input(const onnx::ValueInfoProto& proto, const std::string& file) {
  const auto what = file + ": input " + config::quoted(proto.name());
  if (!proto.type().has_tensor_type())
    unsupported(what + " is not a tensor; give a sequence or an optional one as tensors, each an input of its own");
  const auto& type = proto.type().tensor_type();
  const auto element = element_type(type.elem_type());
  if (!element) refuse_type(what, type.elem_type());
  onnx_source::Input input{proto.name(), *element, {}, type.has_shape()};
  for (const auto& dimension : type.shape().dim()) {
    const bool fixed = dimension.has_dim_value() && dimension.dim_value() >= 0;
    input.shape.push_back(
        {fixed ? std::optional(dimension.dim_value()) : std::nullopt, symbol_of(dimension.dim_param())});
  }
  return input;
}

/// Describes a graph output and the node that writes it, for messages.
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
    if (!is_onnx(import.domain())) continue;
    if (import.version() < oldest_opset || import.version() > newest_opset)
      unsupported(file + ": opset " + std::to_string(import.version()) +
                  " is not supported; export or convert the model to an opset from " + std::to_string(oldest_opset) +
                  " to " + std::to_string(newest_opset));
    return import.version();
  }
  const auto calls = [&](const onnx::NodeProto& node) { return !is_onnx(node.domain()); };
  if (model.functions_size() > 0 && std::ranges::all_of(model.graph().node(), calls)) return newest_opset;
  std::string named;
  for (const auto& import : model.opset_import())
    named += (named.empty() ? "" : ", ") + config::printable(import.domain());
  if (!named.empty())
    unsupported(file + ": it has only operators of " + named +
                ", which are not supported; expected operators of ONNX itself (domain ai.onnx)");
  bad(file + ": its opset is missing; the file is not an ONNX model, or is damaged");
}

constexpr const char* too_large =
    ": the file is larger than 2 GiB, more than protobuf can hold; save the model with its tensors in another file: "
    "onnx.save(model, PATH, save_as_external_data=True)";

onnx::ModelProto decoded(std::span<const std::byte> bytes, const std::string& file) {
  onnx::ModelProto proto;
  if (bytes.empty()) bad(file + ": the file is empty");
  if (bytes.size() > max_onnx_file) unsupported(file + too_large);
  if (!proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    bad(file + ": not an ONNX model, or damaged: its protobuf encoding does not parse");
  if (!proto.has_graph()) bad(file + ": not an ONNX model, or damaged: it has no graph");
  return proto;
}

onnx_source::Model read_model(onnx::ModelProto proto, std::string_view name, Files& files) {
  onnx_source::Model model;
  model.file = name;
  const std::string& file = model.file;
  model.opset = read_opset(proto, file);
  const auto& graph = proto.graph();
  model.name = graph.name();
  for (const auto& property : proto.metadata_props()) model.metadata[property.key()] = property.value();
  model.initialisers = read_initialisers(*proto.mutable_graph(), file, files);
  for (const auto& input : graph.input())
    if (!model.initialisers.contains(input.name())) model.inputs.push_back(read_input(input, file));
  for (const auto& output : graph.output()) model.outputs.push_back(read_output(output, graph, file, model.notes));
  for (const auto& node : graph.node()) model.nodes.push_back(read_node(node, file, files));
  model.functions = read_functions(proto, file, files);
  return model;
}

/// Returns the folders in which a model's external data is searched: the model's folder and, if the model is a symbolic
/// link, the folder of the link's target.
std::vector<std::filesystem::path> folders_of(const std::filesystem::path& file) {
  const auto folder = [](const std::filesystem::path& path) {
    return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  };
  std::vector folders{folder(file)};
  std::error_code error;
  if (std::filesystem::is_symlink(file, error))
    if (const auto target = std::filesystem::canonical(file, error); !error) folders.push_back(folder(target));
  return folders;
}

std::size_t available_memory() {
  const auto available = hal::available_memory(hal::Machine());
  return available ? available->count : std::numeric_limits<std::size_t>::max();
}

template <class Decode>
Result<Graph> parse(const Decode& decode, std::string_view name, std::vector<std::filesystem::path> folders,
                    const GivenInputs& given, const BytesObserver& seen) {
  try {
    Files files{.data{std::move(folders), available_memory(), seen}};
    auto model = read_model(decode(), name, files);
    model.given = given;
    return onnx_source::lower(std::move(model));
  } catch (const Refusal& refusal) { return fail(refusal.code, refusal.text); } catch (const std::bad_alloc&) {
    return fail(Errc::out_of_memory, std::string(name) + ": there is not enough memory to read this model");
  }
}

} // namespace

Result<Graph> parse_onnx(std::span<const std::byte> bytes, std::string_view name,
                         const std::optional<std::filesystem::path>& folder, const GivenInputs& given,
                         const BytesObserver& seen) {
  return parse([&] { return decoded(bytes, std::string(name)); }, name,
               folder ? std::vector{*folder} : std::vector<std::filesystem::path>(), given, seen);
}

Result<Graph> read_onnx(const std::filesystem::path& file, const GivenInputs& given, const BytesObserver& seen) {
  std::error_code error;
  if (const auto size = std::filesystem::file_size(file, error); !error && size > max_onnx_file)
    return fail(Errc::unsupported, file.string() + too_large);
  auto content = config::read_file(file, max_onnx_file);
  if (!content) return Unexpected(content.error());
  if (auto other = config::mistaken(file, *content, config::Content::onnx)) return Unexpected(std::move(*other));
  const auto bytes = std::as_bytes(std::span(*content));
  if (seen) seen(bytes);
  const auto decode = [&] {
    auto proto = decoded(bytes, file.string());
    std::string().swap(*content); // frees the file's bytes; otherwise large constants would be in memory twice
    return proto;
  };
  return parse(decode, file.string(), folders_of(file), given, seen);
}

} // namespace rtexec::tasks
