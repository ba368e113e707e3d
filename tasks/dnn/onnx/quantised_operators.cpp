#include "tasks/dnn/onnx/shape_rules.hpp"

#include <algorithm>
#include <optional>

namespace rtexec::tasks::onnx_source {
namespace {

using Function = Activation::Kind;
using Pair = Binary::Kind;

/// Scales or zero points of a tensor: one, one for each index of an axis, or one for each block of them.
class Grid {
 public:
  Grid(NodeContext& node, Shape x) : node_(node), x_(std::move(x)) {
    given_axis_ = node.attribute<std::int64_t>("axis", 1);
    if (node.opset() >= 21) block_ = node.attribute<std::int64_t>("block_size", 0);
  }

  /// Broadcast to x.
  TensorId spread(std::size_t input) {
    const auto shape = node_.shape(input);
    const auto tensor = node_.tensor(input);
    if (element_count(shape) == 1) return node_.emit(Reshape{}, {tensor}, {});
    const auto axis = node_.axis(given_axis_, x_.size());
    if (block_ > 0) return blocks(tensor, shape, axis);
    node_.require(shape.size() == 1 && shape[0] == x_[axis], "its scale or zero point does not fit its input");
    Shape line(x_.size(), 1);
    line[axis] = shape[0];
    return node_.emit(Reshape{}, {tensor}, std::move(line));
  }

 private:
  TensorId blocks(TensorId tensor, const Shape& shape, std::size_t axis) {
    node_.require(shape.size() == x_.size() && shape[axis] * block_ >= x_[axis], "its blocks do not fit its input");
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

TensorId quantised(NodeContext& node, TensorId x, const Shape& shape, TensorId scale, std::optional<TensorId> zero,
                   ElementType type) {
  const auto [low, high] = range_of(node, type);
  auto y = node.emit(Binary{Pair::divide}, {x, scale}, shape, type);
  y = node.emit(Activation{Function::round}, {y}, shape, type);
  if (zero) y = node.emit(Binary{Pair::add}, {y, *zero}, shape, type);
  return node.emit(Activation{Function::clip, low, high}, {y}, shape, type);
}

TensorId less_zero(NodeContext& node, TensorId x, const Shape& shape, std::optional<TensorId> zero) {
  if (!zero) return node.emit(Reshape{}, {x}, shape, ElementType::float32);
  return node.emit(Binary{Pair::subtract}, {x, *zero}, shape, ElementType::float32);
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
  const auto moved = less_zero(node, node.tensor(0), x, zero);
  node.set_output(node.emit(Binary{Pair::multiply}, {moved, grid.spread(1)}, x, ElementType::float32));
}

/// Zero points of a convolution or product: one, or one for each index of `axis` of a tensor of `rank` dimensions.
std::optional<TensorId> zero_along(NodeContext& node, std::size_t input, std::size_t rank, std::size_t axis) {
  if (!node.has(input)) return std::nullopt;
  const auto shape = node.shape(input);
  Shape line(element_count(shape) == 1 ? 0 : rank, 1);
  if (shape.size() == rank && rank > 1) line = shape;
  else if (!line.empty()) line[axis] = element_count(shape);
  return node.emit(Reshape{}, {node.tensor(input)}, std::move(line));
}

TensorId along(NodeContext& node, std::size_t input, std::size_t rank, std::size_t axis) {
  return *zero_along(node, input, rank, axis);
}

void convolve_integers(NodeContext& node) {
  const auto x = node.shape(0), w = node.shape(1);
  const auto moved = less_zero(node, node.tensor(0), x, zero_along(node, 2, x.size(), 1));
  const auto weights = less_zero(node, node.tensor(1), w, zero_along(node, 3, w.size(), 0));
  const auto y = convolution(node, moved, x, weights, w, {});
  node.set_output(node.emit(Reshape{}, {y}, node.shape_of(y), ElementType::int32));
}

void convolve_quantised(NodeContext& node) {
  const auto x = node.shape(0), w = node.shape(3);
  const auto moved = less_zero(node, node.tensor(0), x, zero_along(node, 2, x.size(), 1));
  const auto weights = less_zero(node, node.tensor(3), w, zero_along(node, 5, w.size(), 0));
  std::optional<TensorId> bias;
  if (node.has(8)) bias = node.emit(Reshape{}, {node.tensor(8)}, node.shape(8), ElementType::float32);
  auto y = convolution(node, moved, x, weights, w, bias);
  const auto shape = node.shape_of(y);
  for (const std::size_t scale : {std::size_t{1}, std::size_t{4}})
    y = node.emit(Binary{Pair::multiply}, {y, along(node, scale, shape.size(), 1)}, shape);
  const auto type = node.element_type(7);
  node.set_output(
      quantised(node, y, shape, along(node, 6, shape.size(), 1), zero_along(node, 7, shape.size(), 1), type));
}

/// a times b, both less their zero points.
TensorId product_of_integers(NodeContext& node, std::size_t a, std::size_t a_zero, std::size_t b, std::size_t b_zero) {
  const auto p = node.shape(a), q = node.shape(b);
  node.require(p.size() >= 2 && q.size() >= 2, "its matrices have fewer than two dimensions");
  const auto left = less_zero(node, node.tensor(a), p, zero_along(node, a_zero, p.size(), p.size() - 2));
  const auto right = less_zero(node, node.tensor(b), q, zero_along(node, b_zero, q.size(), q.size() - 1));
  return matrix_product(node, left, p, right, q);
}

void multiply_integers(NodeContext& node) {
  const auto y = product_of_integers(node, 0, 2, 1, 3);
  node.set_output(node.emit(Reshape{}, {y}, node.shape_of(y), ElementType::int32));
}

void multiply_quantised(NodeContext& node) {
  auto y = product_of_integers(node, 0, 2, 3, 5);
  const auto shape = node.shape_of(y);
  const auto rank = shape.size();
  y = node.emit(Binary{Pair::multiply}, {y, along(node, 1, rank, rank - 2)}, shape);
  y = node.emit(Binary{Pair::multiply}, {y, along(node, 4, rank, rank - 1)}, shape);
  const auto type = node.element_type(7);
  node.set_output(quantised(node, y, shape, along(node, 6, rank, rank - 2), zero_along(node, 7, rank, rank - 2), type));
}

/// To uint8, so that all values and zero are in range.
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
  point = node.emit(Activation{Function::round}, {point}, {}, ElementType::uint8);
  node.set_output(quantised(node, node.tensor(0), x, scale, point, ElementType::uint8));
  if (node.outputs() > 1) node.set_output(scale, 1);
  if (node.outputs() > 2) node.set_output(point, 2);
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
}

} // namespace rtexec::tasks::onnx_source
