#include "tasks/engine/models/graph_writer.hpp"

#include "config/base/files.hpp"

#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>

namespace rtexec::tasks {
namespace {

constexpr std::int64_t kOpset = 14;    // the first version with HardSwish
constexpr std::int64_t kIrVersion = 8; // the version of ONNX 1.10 and later

onnx::AttributeProto& new_attribute(onnx::NodeProto& node, std::string_view name,
                                    onnx::AttributeProto::AttributeType type) {
  auto& attribute = *node.add_attribute();
  attribute.set_name(std::string(name));
  attribute.set_type(type);
  return attribute;
}

void attribute(onnx::NodeProto& node, std::string_view name, std::int64_t value) {
  new_attribute(node, name, onnx::AttributeProto::INT).set_i(value);
}

void attribute(onnx::NodeProto& node, std::string_view name, float value) {
  new_attribute(node, name, onnx::AttributeProto::FLOAT).set_f(value);
}

void attribute(onnx::NodeProto& node, std::string_view name, std::string_view value) {
  new_attribute(node, name, onnx::AttributeProto::STRING).set_s(std::string(value));
}

void attribute(onnx::NodeProto& node, std::string_view name, std::initializer_list<std::int64_t> values) {
  auto& ints = new_attribute(node, name, onnx::AttributeProto::INTS);
  for (const std::int64_t value : values) ints.add_ints(value);
}

int pooled(int size, const PoolShape& shape) {
  const int room = size + shape.pad_before + shape.pad_after - shape.kernel;
  return (room + (shape.ceil ? shape.stride - 1 : 0)) / shape.stride + 1;
}

} // namespace

GraphWriter::GraphWriter(std::string_view name, std::uint64_t seed)
    : model_(std::make_unique<onnx::ModelProto>()), random_(seed) {
  model_->set_ir_version(kIrVersion);
  model_->set_producer_name("rtexec");
  model_->add_opset_import()->set_version(kOpset);
  model_->mutable_graph()->set_name(std::string(name));
}

GraphWriter::~GraphWriter() = default;

onnx::NodeProto& GraphWriter::node(std::string_view type, std::string_view stem, std::span<const std::string> inputs) {
  auto& graph = *model_->mutable_graph();
  auto& node = *graph.add_node();
  const std::string name = std::string(stem) + "_" + std::to_string(graph.node_size());
  node.set_name(name);
  node.set_op_type(std::string(type));
  for (const auto& input : inputs) node.add_input(input);
  node.add_output(name);
  return node;
}

std::span<float> GraphWriter::constant(const std::string& name, std::span<const std::int64_t> shape) {
  static_assert(std::endian::native == std::endian::little, "ONNX stores raw data in little endian");
  auto& tensor = *model_->mutable_graph()->add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  std::size_t count = 1;
  for (const std::int64_t size : shape) {
    tensor.add_dims(size);
    count *= static_cast<std::size_t>(size);
  }
  std::string& bytes = *tensor.mutable_raw_data();
  bytes.resize(count * sizeof(float)); // memory from operator new is aligned for floats
  return {reinterpret_cast<float*>(bytes.data()), count};
}

void GraphWriter::uniform(const std::string& name, std::span<const std::int64_t> shape, double deviation) {
  const auto bound = static_cast<float>(std::sqrt(3.0) * deviation);
  std::ranges::generate(constant(name, shape), [&] { return random_.centred() * bound; });
}

void GraphWriter::around(const std::string& name, std::int64_t count, float middle, float spread, float factor) {
  std::ranges::generate(constant(name, {&count, 1}), [&] { return (middle + spread * random_.centred()) * factor; });
}

void GraphWriter::integers(const std::string& name, std::initializer_list<std::int64_t> values) {
  auto& tensor = *model_->mutable_graph()->add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::INT64);
  tensor.add_dims(static_cast<std::int64_t>(values.size()));
  for (const std::int64_t value : values) tensor.add_int64_data(value);
}

Value GraphWriter::input(int channels, int size) {
  const int before = model_->graph().input_size();
  const std::string name = before == 0 ? "input" : "input_" + std::to_string(before);
  declare(true, name, std::initializer_list<std::int64_t>{1, channels, size, size});
  return {name, channels, size, size};
}

Value GraphWriter::conv(const Value& x, const ConvShape& shape, std::span<const float> bias) {
  assert(x.channels % shape.groups == 0 && shape.channels % shape.groups == 0);
  auto& conv = node("Conv", "conv", {{x.name}});
  const std::string name = conv.name();
  const std::int64_t kernel = shape.kernel, fan_in = x.channels / shape.groups * kernel * kernel;
  const std::int64_t pad = shape.padded ? kernel / 2 : 0;
  conv.add_input(name + ".weight");
  uniform(name + ".weight",
          std::initializer_list<std::int64_t>{shape.channels, x.channels / shape.groups, kernel, kernel},
          shape.gain * std::sqrt(2.0 / static_cast<double>(fan_in)));
  if (!bias.empty()) {
    conv.add_input(name + ".bias");
    const std::int64_t count = shape.channels;
    std::ranges::copy(bias, constant(name + ".bias", {&count, 1}).begin());
  } else if (shape.bias > 0) {
    conv.add_input(name + ".bias");
    around(name + ".bias", shape.channels, 0, shape.bias);
  }
  attribute(conv, "kernel_shape", {kernel, kernel});
  attribute(conv, "strides", {shape.stride, shape.stride});
  attribute(conv, "pads", {pad, pad, pad, pad});
  attribute(conv, "group", std::int64_t{shape.groups});
  const auto out = [&](int size) { return (size - (shape.padded ? 1 : shape.kernel)) / shape.stride + 1; };
  return {name, shape.channels, out(x.height), out(x.width)};
}

Value GraphWriter::batch_norm(const Value& x, float gain) {
  auto& norm = node("BatchNormalization", "norm", {{x.name}});
  const std::string name = norm.name();
  for (const char* part : {".scale", ".shift", ".mean", ".variance"}) norm.add_input(name + part);
  around(name + ".scale", x.channels, 1, 0.125f, gain);
  around(name + ".shift", x.channels, 0, 0.125f, gain);
  around(name + ".mean", x.channels, 0, 0.125f);
  around(name + ".variance", x.channels, 1, 0.25f);
  attribute(norm, "epsilon", 1e-5f);
  return {name, x.channels, x.height, x.width};
}

Value GraphWriter::elementwise(std::string_view type, std::string_view stem, const Value& x) {
  return {node(type, stem, {{x.name}}).name(), x.channels, x.height, x.width};
}

Value GraphWriter::relu(const Value& x) { return elementwise("Relu", "relu", x); }
Value GraphWriter::sigmoid(const Value& x) { return elementwise("Sigmoid", "sigmoid", x); }
Value GraphWriter::hard_swish(const Value& x) { return elementwise("HardSwish", "hardswish", x); }

Value GraphWriter::hard_sigmoid(const Value& x) {
  auto& hard = node("HardSigmoid", "hardsigmoid", {{x.name}});
  attribute(hard, "alpha", 1.0f / 6);
  attribute(hard, "beta", 0.5f);
  return {hard.name(), x.channels, x.height, x.width};
}

Value GraphWriter::lrn(const Value& x) {
  auto& lrn = node("LRN", "lrn", {{x.name}});
  attribute(lrn, "size", std::int64_t{5});
  attribute(lrn, "alpha", 1e-4f);
  attribute(lrn, "beta", 0.75f);
  attribute(lrn, "bias", 1.0f);
  return {lrn.name(), x.channels, x.height, x.width};
}

Value GraphWriter::leaky_relu(const Value& x) {
  auto& leaky = node("LeakyRelu", "leaky", {{x.name}});
  attribute(leaky, "alpha", 0.1f);
  return {leaky.name(), x.channels, x.height, x.width};
}

Value GraphWriter::pool(std::string_view type, std::string_view stem, const Value& x, const PoolShape& shape) {
  auto& pool = node(type, stem, {{x.name}});
  attribute(pool, "kernel_shape", {shape.kernel, shape.kernel});
  attribute(pool, "strides", {shape.stride, shape.stride});
  attribute(pool, "pads", {shape.pad_before, shape.pad_before, shape.pad_after, shape.pad_after});
  attribute(pool, "ceil_mode", std::int64_t{shape.ceil});
  return {pool.name(), x.channels, pooled(x.height, shape), pooled(x.width, shape)};
}

Value GraphWriter::max_pool(const Value& x, const PoolShape& shape) { return pool("MaxPool", "maxpool", x, shape); }

Value GraphWriter::average_pool(const Value& x, const PoolShape& shape) {
  return pool("AveragePool", "avgpool", x, shape);
}

Value GraphWriter::global_average_pool(const Value& x) {
  return {node("GlobalAveragePool", "pool", {{x.name}}).name(), x.channels, 1, 1};
}

Value GraphWriter::add(const Value& a, const Value& b) {
  assert(a.channels == b.channels && a.height == b.height && a.width == b.width);
  return {node("Add", "add", {{a.name, b.name}}).name(), a.channels, a.height, a.width};
}

Value GraphWriter::multiply(const Value& x, const Value& factors) {
  assert(x.channels == factors.channels);
  return {node("Mul", "mul", {{x.name, factors.name}}).name(), x.channels, x.height, x.width};
}

Value GraphWriter::pad_channels(const Value& x, int channels) {
  assert(channels >= x.channels);
  auto& pad = node("Pad", "pad", {{x.name}});
  const std::string name = pad.name();
  pad.add_input(name + ".pads");
  integers(name + ".pads", {0, 0, 0, 0, 0, channels - x.channels, 0, 0});
  return {name, channels, x.height, x.width};
}

Value GraphWriter::concat(std::span<const Value> values) {
  auto& concat = node("Concat", "concat", {});
  Value out{concat.name(), 0, values.front().height, values.front().width};
  for (const Value& value : values) {
    assert(value.height == out.height && value.width == out.width);
    concat.add_input(value.name);
    out.channels += value.channels;
  }
  attribute(concat, "axis", std::int64_t{1});
  return out;
}

Value GraphWriter::upsample(const Value& x) {
  auto& resize = node("Resize", "upsample", {{x.name, std::string()}});
  const std::string scales = resize.name() + ".scales";
  resize.add_input(scales);
  std::ranges::copy(std::initializer_list<float>{1, 1, 2, 2},
                    constant(scales, std::initializer_list<std::int64_t>{4}).begin());
  attribute(resize, "mode", std::string_view("nearest"));
  attribute(resize, "coordinate_transformation_mode", std::string_view("asymmetric"));
  attribute(resize, "nearest_mode", std::string_view("floor"));
  return {resize.name(), x.channels, 2 * x.height, 2 * x.width};
}

Value GraphWriter::reshape(const std::string& x, std::initializer_list<std::int64_t> shape, const Value& out) {
  auto& reshape = node("Reshape", "reshape", {{x}});
  const std::string name = reshape.name();
  reshape.add_input(name + ".shape");
  integers(name + ".shape", shape);
  return {name, out.channels, out.height, out.width};
}

Value GraphWriter::reorg(const Value& x) {
  assert(x.channels % 4 == 0);
  const int channels = x.channels / 4;
  const Value out{{}, 4 * x.channels, x.height / 2, x.width / 2};
  const std::string squares = reshape(x.name, {channels, x.height, 2, x.width, 2}, {}).name;
  auto& gather = node("Transpose", "transpose", {{squares}});
  attribute(gather, "perm", {2, 4, 0, 1, 3});
  return reshape(gather.name(), {1, out.channels, out.height, out.width}, out);
}

Value GraphWriter::flatten(const Value& x) {
  auto& flatten = node("Flatten", "flatten", {{x.name}});
  attribute(flatten, "axis", std::int64_t{1});
  return {flatten.name(), x.channels * x.height * x.width, 0, 0};
}

Value GraphWriter::linear(const Value& x, int channels) {
  auto& gemm = node("Gemm", "fc", {{x.name}});
  const std::string name = gemm.name();
  for (const char* part : {".weight", ".bias"}) gemm.add_input(name + part);
  uniform(name + ".weight", std::initializer_list<std::int64_t>{channels, x.channels}, std::sqrt(2.0 / x.channels));
  around(name + ".bias", channels, 0, 0.125f);
  attribute(gemm, "transB", std::int64_t{1});
  return {name, channels, 0, 0};
}

void GraphWriter::declare(bool as_input, const std::string& name, std::span<const std::int64_t> shape) {
  auto& graph = *model_->mutable_graph();
  auto& port = as_input ? *graph.add_input() : *graph.add_output();
  port.set_name(name);
  auto& type = *port.mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnx::TensorProto::FLOAT);
  for (const std::int64_t size : shape) type.mutable_shape()->add_dim()->set_dim_value(size);
}

void GraphWriter::output(const Value& x) {
  if (x.height == 0) declare(false, x.name, std::initializer_list<std::int64_t>{1, x.channels});
  else declare(false, x.name, std::initializer_list<std::int64_t>{1, x.channels, x.height, x.width});
}

void GraphWriter::metadata(std::string_view key, std::string_view value) {
  auto& property = *model_->add_metadata_props();
  property.set_key(std::string(key));
  property.set_value(std::string(value));
}

Result<> GraphWriter::save(const std::filesystem::path& path) const {
  auto file = AtomicFile::create(path);
  if (!file) return Unexpected(file.error());
  google::protobuf::io::FileOutputStream stream(file->descriptor());
  const bool written = model_->SerializeToZeroCopyStream(&stream);
  if (!stream.Flush() || !written) return file->failure(stream.GetErrno());
  return file->commit();
}

} // namespace rtexec::tasks
