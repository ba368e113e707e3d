#include "tasks/engine/onnx/operators.hpp"
#include "tasks/engine/onnx/shape_rules.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

namespace rtexec::tasks::onnx_source {
namespace {

using Function = Activation::Kind;
using Pair = Binary::Kind;

/// The scales or zero points of a tensor x. There is a single value for all elements, a value for each index of an
/// axis, or a value for each block of consecutive indices of an axis.
class Grid {
 public:
  Grid(NodeContext& node, Shape x) : node_(node), x_(std::move(x)) {
    given_axis_ = node.attribute<std::int64_t>("axis", 1);
    if (node.opset() >= 21) block_ = node.attribute<std::int64_t>("block_size", 0);
  }

  /// Returns the scales or zero points in input number `input`, shaped for broadcasting to x.
  TensorId spread(std::size_t input) {
    const auto shape = node_.shape(input);
    const auto tensor = node_.tensor(input);
    if (element_count(shape) == 1) return node_.emit(Reshape{}, {tensor}, {});
    const auto axis = node_.axis(given_axis_, x_.size());
    if (block_ > 0) return blocks(tensor, shape, axis);
    node_.require(shape.size() == 1 && shape[0] == x_[axis],
                  "the shape of its scale or zero point does not match its input");
    Shape line(x_.size(), 1);
    line[axis] = shape[0];
    return node_.emit(Reshape{}, {tensor}, std::move(line));
  }

 private:
  TensorId blocks(TensorId tensor, const Shape& shape, std::size_t axis) {
    auto expected = x_;
    expected[axis] = (x_[axis] - 1) / block_ + 1;
    node_.require(block_ <= max_elements && shape == expected, "its blocks do not match its input");
    auto strides = dense_strides(shape);
    auto wide = shape;
    wide.insert(wide.begin() + static_cast<std::ptrdiff_t>(axis) + 1, block_);
    strides.insert(strides.begin() + static_cast<std::ptrdiff_t>(axis) + 1, 0);
    auto flat = shape;
    flat[axis] *= block_;
    const auto each = node_.emit(Reshape{}, {node_.emit(View{0, strides}, {tensor}, wide)}, flat);
    return flat == x_ ? each : node_.emit(View{0, dense_strides(flat)}, {each}, x_);
  }

  NodeContext& node_;
  Shape x_;
  std::int64_t given_axis_ = 1, block_ = 0;
};

std::pair<float, float> range_of(NodeContext& node, ElementType type) {
  if (type == ElementType::uint8) return {0.0F, 255.0F};
  if (type == ElementType::int8) return {-128.0F, 127.0F};
  if (type == ElementType::uint16) return {0.0F, 65535.0F};
  if (type == ElementType::int16) return {-32768.0F, 32767.0F};
  node.unsupported("it quantises to " + std::string(name(type)) + "; supported: int8, uint8, int16 and uint16");
}

/// Returns the value of a constant with one element. Returns `absent` if `id` is nullopt. Returns nullopt if the tensor
/// is not such a constant.
std::optional<float> number(const NodeContext& node, std::optional<TensorId> id, float absent) {
  if (!id) return absent;
  if (!node.is_constant(*id) || element_count(node.shape_of(*id)) != 1) return std::nullopt;
  return node.number_of(*id);
}

TensorId quantised(NodeContext& node, TensorId x, const Shape& shape, TensorId scale, std::optional<TensorId> zero,
                   ElementType type) {
  const auto [low, high] = range_of(node, type);
  const auto by = number(node, scale, 1), from = number(node, zero, 0);
  if (by && from) return node.emit(Quantise{*by, *from, low, high}, {x}, shape, type);
  auto y = node.emit(Binary{Pair::divide}, {x, scale}, shape);
  y = node.emit(Activation{Function::round}, {y}, shape);
  if (zero) y = node.emit(Binary{Pair::add}, {y, node.cast(*zero, ElementType::float32)}, shape);
  return node.cast(node.emit(Activation{Function::clip, low, high}, {y}, shape), type);
}

/// Returns the 8-bit integers and the scales of a dequantized constant. Returns nullptr if the integers do not fit into
/// 8 bits, or the scales vary along more than one axis.
std::shared_ptr<const QuantizedConstant> quantized_constant(const NodeContext& node, TensorId integers,
                                                            TensorId scale) {
  const auto fits = [](float value) { return value >= -128 && value <= 127 && value == std::nearbyint(value); };
  const auto& values = node.values_of(integers);
  if (!std::ranges::all_of(values, fits) || !node.is_constant(scale)) return nullptr;
  auto result = std::make_shared<QuantizedConstant>();
  result->values.assign(values.begin(), values.end());
  result->scales = node.values_of(scale);
  const auto shape = node.shape_of(scale);
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (shape[d] > 1) result->axis = d;
  const bool one_axis = result->scales.size() == 1 || shape[result->axis] == element_count(shape);
  return one_axis ? result : nullptr;
}

/// Emits (x - zero) * scale in floats, for a tensor x of integers.
TensorId dequantised(NodeContext& node, TensorId x, const Shape& shape, TensorId scale, std::optional<TensorId> zero) {
  constexpr auto real = ElementType::float32;
  const auto by = number(node, scale, 1), from = number(node, zero, 0);
  const auto type = node.type_of(x);
  const bool quantised = is_integer(type) && (size_of(type) < 4 || type == ElementType::int32);
  if (!quantised || type == ElementType::boolean)
    node.bad("it dequantises " + std::string(name(type)) + ", and needs int8, uint8, int16, uint16 or int32");
  if (by && from && !node.is_constant(x)) return node.emit(Dequantise{*by, *from}, {x}, shape, real);
  auto real_x = node.cast(x, real);
  if (zero) real_x = node.emit(Binary{Pair::subtract}, {real_x, node.cast(*zero, real)}, shape);
  const auto y = node.emit(Binary{Pair::multiply}, {real_x, scale}, shape);
  if (node.is_constant(y) && node.is_constant(real_x)) node.stands_for(y, quantized_constant(node, real_x, scale));
  return y;
}

/// Emits x - zero as int16, for an input x of 8-bit integers.
TensorId centred(NodeContext& node, std::size_t input, std::optional<TensorId> zero) {
  const auto type = node.element_type(input);
  if (!is_integer(type) || size_of(type) != 1) node.bad("input " + node.name_of(input) + " must be int8 or uint8");
  const auto x = node.cast(node.tensor(input), ElementType::int16);
  if (!zero) return x;
  return node.emit(Binary{Pair::subtract}, {x, node.cast(*zero, ElementType::int16)}, node.shape(input));
}

ElementType named_type(NodeContext& node) {
  switch (const auto type = node.attribute<std::int64_t>("output_dtype", 0)) {
  case 0:
  case 2: return ElementType::uint8;
  case 3: return ElementType::int8;
  case 4: return ElementType::uint16;
  case 5: return ElementType::int16;
  default: node.unsupported("output_dtype is " + type_name(type) + "; supported: UINT8, INT8, UINT16 and INT16");
  }
}

void quantize(NodeContext& node) {
  const auto x = node.shape(0);
  node.ignore_attribute("saturate");
  node.ignore_attribute("precision");
  const auto named = named_type(node);
  Grid grid(node, x);
  std::optional<TensorId> zero;
  const auto type = node.has(2) ? node.element_type(2) : named;
  if (node.has(2)) zero = grid.spread(2);
  node.set_output(quantised(node, node.tensor(0), x, grid.spread(1), zero, type));
}

void dequantize(NodeContext& node) {
  const auto x = node.shape(0);
  node.ignore_attribute("output_dtype");
  Grid grid(node, x);
  std::optional<TensorId> zero;
  if (node.has(2)) zero = grid.spread(2);
  node.set_output(dequantised(node, node.tensor(0), x, grid.spread(1), zero));
}

/// Returns the zero points or scales of an operand of a convolution or product. There is a single value for all
/// elements, or a value for each index of `axis`. The result is shaped for broadcasting to a tensor with `rank`
/// dimensions.
std::optional<TensorId> zero_along(NodeContext& node, std::size_t input, std::size_t rank, std::size_t axis) {
  if (!node.has(input)) return std::nullopt;
  const auto shape = node.shape(input);
  Shape line(element_count(shape) == 1 ? 0 : rank, 1);
  if (shape.size() == rank && rank > 1) line = shape;
  else if (!line.empty()) {
    node.require(axis < rank, "a scale or zero point has more elements than its tensor has channels");
    line[axis] = element_count(shape);
  }
  return node.emit(Reshape{}, {node.tensor(input)}, std::move(line));
}

TensorId along(NodeContext& node, std::size_t input, std::size_t rank, std::size_t axis) {
  const auto scale = zero_along(node, input, rank, axis);
  if (!scale) node.bad("input " + std::to_string(input) + ", a scale, is missing or empty");
  return *scale;
}

void convolve_integers(NodeContext& node) {
  const auto x = node.shape(0), w = node.shape(1);
  const auto centred_input = [&](std::size_t input, const Shape& shape, std::size_t axis) {
    return centred(node, input, zero_along(node, input + 2, shape.size(), axis));
  };
  node.set_output(convolution(node, centred_input(0, x, 1), x, centred_input(1, w, 0), w, {}));
}

void convolve_quantised(NodeContext& node) {
  const auto x = node.shape(0), w = node.shape(3);
  const auto real = [&](std::size_t input, const Shape& shape, std::size_t axis) {
    return dequantised(node, node.tensor(input), shape, along(node, input + 1, shape.size(), axis),
                       zero_along(node, input + 2, shape.size(), axis));
  };
  std::optional<TensorId> bias;
  if (node.has(8)) {
    const auto line = node.shape(8);
    bias = node.cast(node.tensor(8), ElementType::float32);
    for (const std::size_t scale : {std::size_t{1}, std::size_t{4}})
      bias = node.emit(Binary{Pair::multiply}, {*bias, along(node, scale, 1, 0)}, line);
  }
  const auto y = convolution(node, real(0, x, 1), x, real(3, w, 0), w, bias);
  const auto shape = node.shape_of(y);
  node.set_output(quantised(node, y, shape, along(node, 6, shape.size(), 1), zero_along(node, 7, shape.size(), 1),
                            node.element_type(7)));
}

/// One operand of a matrix product: the numbers of the node's inputs that belong to it. `axis` is the dimension in
/// which each index may have its own zero point, counted from the end: 2 for rows, 1 for columns.
struct Factor {
  std::size_t input;
  std::optional<std::size_t> scale;
  std::size_t zero, axis;
};

TensorId product_of(NodeContext& node, const Factor& a, const Factor& b) {
  const auto p = node.shape(a.input), q = node.shape(b.input);
  node.require(p.size() >= 2 && q.size() >= 2, "its matrices have fewer than two dimensions");
  const auto of = [&](const Factor& factor, const Shape& shape) {
    const auto rank = shape.size(), axis = rank - factor.axis;
    const auto zero = zero_along(node, factor.zero, rank, axis);
    if (!factor.scale) return centred(node, factor.input, zero);
    return dequantised(node, node.tensor(factor.input), shape, along(node, *factor.scale, rank, axis), zero);
  };
  const auto left = of(a, p), right = of(b, q);
  return matrix_product(node, left, p, right, q);
}

void multiply_integers(NodeContext& node) { node.set_output(product_of(node, {0, {}, 2, 2}, {1, {}, 3, 1})); }

void multiply_quantised(NodeContext& node) {
  const auto y = product_of(node, {0, 1, 2, 2}, {3, 4, 5, 1});
  const auto shape = node.shape_of(y);
  const auto rank = shape.size();
  node.set_output(quantised(node, y, shape, along(node, 6, rank, rank - 2), zero_along(node, 7, rank, rank - 2),
                            node.element_type(7)));
}

/// Lowers DynamicQuantizeLinear: quantizes to uint8, with a range that includes zero and all values.
void quantise_dynamically(NodeContext& node) {
  const auto x = node.shape(0);
  const auto count = element_count(x);
  const auto zero = node.constant({}, {0});
  const auto extreme = [&](Reduce::Kind kind, Pair with_zero) {
    const auto of_all = node.emit(Reduce{kind, 1, count, 1}, {node.tensor(0)}, {});
    return node.emit(Binary{with_zero}, {of_all, zero}, {});
  };
  const auto low = extreme(Reduce::Kind::minimum, Pair::minimum), high = extreme(Reduce::Kind::maximum, Pair::maximum);
  const auto span = node.emit(Binary{Pair::subtract}, {high, low}, {});
  const auto scale = node.emit(Binary{Pair::divide}, {span, node.constant({}, {255})}, {});
  auto point = node.emit(Binary{Pair::divide}, {low, scale}, {});
  point = node.emit(Activation{Function::scale, -1, 0}, {point}, {});
  point = node.emit(Activation{Function::clip, 0, 255}, {point}, {});
  point = node.cast(node.emit(Activation{Function::round}, {point}, {}), ElementType::uint8);
  node.set_output(quantised(node, node.tensor(0), x, scale, point, ElementType::uint8));
  if (node.outputs() > 1) node.set_output(scale, 1);
  if (node.outputs() > 2) node.set_output(point, 2);
}

// ---- operators of the domain com.microsoft, which onnxruntime's quantizer writes. Each tensor has a single scale and
// a single zero point

/// Returns input number `input`, dequantized. The two inputs that follow it are its scale and its zero point.
TensorId real_number(NodeContext& node, std::size_t input) {
  const auto shape = node.shape(input);
  return dequantised(node, node.tensor(input), shape, along(node, input + 1, shape.size(), 0),
                     zero_along(node, input + 2, shape.size(), 0));
}

/// Sets the output to y, quantized to the type of the output's zero point. Without a zero point, the type is the type
/// of the first input. `scale` is the number of the input that holds the output's scale.
void give_quantised(NodeContext& node, TensorId y, std::size_t scale) {
  const auto shape = node.shape_of(y);
  const auto type = node.element_type(node.has(scale + 1) ? scale + 1 : 0);
  node.set_output(quantised(node, y, shape, along(node, scale, shape.size(), 0),
                            zero_along(node, scale + 1, shape.size(), 0), type));
}

template <Pair kind> void combine_quantised(NodeContext& node) {
  const auto shape = broadcast(node, node.shape(0), node.shape(3));
  const auto a = real_number(node, 0), b = real_number(node, 3);
  give_quantised(node, node.emit(Binary{kind}, {a, b}, shape), 6);
}

void activate_quantised(NodeContext& node, const Activation& activation) {
  const auto shape = node.shape(0);
  give_quantised(node, node.emit(activation, {real_number(node, 0)}, shape), 3);
}

void sigmoid_quantised(NodeContext& node) { activate_quantised(node, {Function::sigmoid}); }

void leaky_relu_quantised(NodeContext& node) {
  activate_quantised(node, {Function::leaky_relu, node.attribute("alpha", 0.01F)});
}

void average_quantised(NodeContext& node) {
  const auto x = node.shape(0);
  node.require(x.size() >= 3, "its input has fewer than three dimensions");
  if (node.attribute<std::int64_t>("channels_last", 0) != 0)
    node.unsupported("its channels are the last dimension; supported: channels first (channels_last = 0)");
  Shape shape(x.size(), 1);
  std::copy_n(x.begin(), 2, shape.begin());
  const auto outer = x[0] * x[1];
  const Reduce mean{Reduce::Kind::mean, outer, product(x, 2, x.size()), 1};
  give_quantised(node, node.emit(mean, {real_number(node, 0)}, shape), 3);
}

void concatenate_quantised(NodeContext& node) {
  node.require(node.inputs() >= 5 && node.inputs() % 3 == 2,
               "its inputs are not a scale, a zero point and tensors with theirs");
  auto shape = node.shape(2);
  const auto axis = node.axis(node.attribute<std::int64_t>("axis"), shape.size());
  shape[axis] = 0;
  std::vector<TensorId> parts;
  for (std::size_t input = 2; input < node.inputs(); input += 3) {
    auto part = node.shape(input);
    node.require(part.size() == shape.size(), "its inputs differ in their number of dimensions");
    shape[axis] += part[axis];
    part[axis] = shape[axis];
    node.require(part == shape, "its inputs differ outside of its axis");
    parts.push_back(real_number(node, input));
  }
  give_quantised(node, node.emit(Concat{axis}, std::move(parts), node.checked(shape)), 0);
}

/// Lowers QGemm. The scale of its addend c is the scale of the product.
void gemm_quantised(NodeContext& node) {
  const bool transpose_a = node.attribute<std::int64_t>("transA", 0) != 0,
             transpose_b = node.attribute<std::int64_t>("transB", 0) != 0;
  const auto alpha = node.attribute("alpha", 1.0F);
  const auto a = node.shape_of_rank(0, 2), b = node.shape_of_rank(3, 2);
  const Shape shape{a[transpose_a ? 1 : 0], b[transpose_b ? 0 : 1]};
  node.require(a[transpose_a ? 0 : 1] == b[transpose_b ? 1 : 0], "its matrices cannot be multiplied");
  const std::size_t columns = transpose_b ? 0 : 1;
  std::vector<TensorId> inputs{real_number(node, 0), dequantised(node, node.tensor(3), b, along(node, 4, 2, columns),
                                                                 zero_along(node, 5, 2, columns))};
  if (node.has(6)) {
    const auto line = broadcast(node, node.shape(6), {shape[1]});
    auto sum = node.cast(node.tensor(6), ElementType::float32);
    for (const std::size_t scale : {std::size_t{1}, std::size_t{4}})
      sum = node.emit(Binary{Pair::multiply}, {sum, along(node, scale, 1, 0)}, line);
    inputs.push_back(sum);
  }
  const auto y = node.emit(Gemm{transpose_a, transpose_b, alpha, alpha}, std::move(inputs), shape);
  if (node.has(7)) give_quantised(node, y, 7);
  else node.set_output(y);
}

} // namespace

void add_quantised_operators(OperatorTable& table) {
  table["QuantizeLinear"] = {quantize, "to INT8, UINT8, INT16 and UINT16", 10};
  table["DequantizeLinear"] = {dequantize, "of INT8, UINT8, INT16, UINT16 and INT32", 10};
  table["DynamicQuantizeLinear"] = {quantise_dynamically, "", 11};
  table["ConvInteger"] = {convolve_integers, "", 10};
  table["QLinearConv"] = {convolve_quantised, "", 10};
  table["MatMulInteger"] = {multiply_integers, "", 10};
  table["QLinearMatMul"] = {multiply_quantised, "", 10};
  table["com.microsoft.QLinearAdd"] = {combine_quantised<Pair::add>, "", 10};
  table["com.microsoft.QLinearMul"] = {combine_quantised<Pair::multiply>, "", 10};
  table["com.microsoft.QLinearSigmoid"] = {sigmoid_quantised, "", 10};
  table["com.microsoft.QLinearLeakyRelu"] = {leaky_relu_quantised, "", 10};
  table["com.microsoft.QLinearGlobalAveragePool"] = {average_quantised, "channels first", 10};
  table["com.microsoft.QLinearConcat"] = {concatenate_quantised, "", 10};
  table["com.microsoft.QGemm"] = {gemm_quantised, "", 10};
}

} // namespace rtexec::tasks::onnx_source
