#include "tasks/engine/onnx/operators.hpp"
#include "tasks/engine/onnx/shape_rules.hpp"

#include <algorithm>
#include <limits>

namespace rtexec::tasks::onnx_source {
namespace {

using Function = Activation::Kind;
using Pair = Binary::Kind;

void activate(NodeContext& node, Activation activation) {
  node.set_output(node.emit(activation, {node.tensor(0)}, node.shape(0)));
}

template <Function kind> void plain(NodeContext& node) { activate(node, {kind}); }

void leaky_relu(NodeContext& node) { activate(node, {Function::leaky_relu, node.attribute("alpha", 0.01F)}); }

void hard_sigmoid(NodeContext& node) {
  const auto alpha = node.attribute("alpha", 0.2F);
  activate(node, {Function::hard_sigmoid, alpha, node.attribute("beta", 0.5F)});
}

void elu(NodeContext& node) { activate(node, {Function::elu, node.attribute("alpha", 1.0F)}); }

void selu(NodeContext& node) {
  const auto alpha = node.attribute("alpha", 1.67326319217681884765625F);
  activate(node, {Function::selu, alpha, node.attribute("gamma", 1.05070102214813232421875F)});
}

/// Lowers Celu: alpha * elu(x / alpha).
void celu(NodeContext& node) {
  const auto alpha = node.attribute("alpha", 1.0F);
  const auto shape = node.shape(0);
  const auto inside = node.emit(Activation{Function::scale, 1 / alpha, 0}, {node.tensor(0)}, shape);
  const auto bent = node.emit(Activation{Function::elu, 1, 0}, {inside}, shape);
  node.set_output(node.emit(Activation{Function::scale, alpha, 0}, {bent}, shape));
}

void thresholded_relu(NodeContext& node) {
  activate(node, {Function::thresholded_relu, node.attribute("alpha", 1.0F)});
}

void shrink(NodeContext& node) {
  const auto from = node.attribute("lambd", 0.5F);
  activate(node, {Function::shrink, from, node.attribute("bias", 0.0F)});
}

void gelu(NodeContext& node) {
  const auto approximate = node.attribute<std::string>("approximate", "none");
  if (approximate != "none" && approximate != "tanh") node.bad("approximate is " + config::quoted(approximate));
  activate(node, {approximate == "tanh" ? Function::gelu_tanh : Function::gelu});
}

void swish(NodeContext& node) {
  const auto alpha = node.attribute("alpha", 1.0F);
  if (alpha == 1) return activate(node, {Function::swish});
  const auto shape = node.shape(0);
  const auto inside = node.emit(Activation{Function::scale, alpha, 0}, {node.tensor(0)}, shape);
  const auto gate = node.emit(Activation{Function::sigmoid}, {inside}, shape);
  node.set_output(node.emit(Binary{Pair::multiply}, {node.tensor(0), gate}, shape));
}

void negate(NodeContext& node) {
  const auto type = node.element_type(0);
  if (!is_integer(type)) return activate(node, {Function::scale, -1, 0});
  node.set_output(node.emit(Binary{Pair::subtract}, {node.scalar(0, type), node.tensor(0)}, node.shape(0)));
}

/// is_zero() and the next two functions lower to operations that write booleans, whatever the type of their input is.
void is_zero(NodeContext& node) {
  node.set_output(node.emit(Activation{Function::is_zero}, {node.tensor(0)}, node.shape(0), ElementType::boolean));
}
void is_nan(NodeContext& node) {
  node.set_output(node.emit(Activation{Function::is_nan}, {node.tensor(0)}, node.shape(0), ElementType::boolean));
}
void is_infinite(NodeContext& node) {
  const auto below = static_cast<float>(node.attribute<std::int64_t>("detect_negative", 1));
  const auto above = static_cast<float>(node.attribute<std::int64_t>("detect_positive", 1));
  node.set_output(node.emit(Activation{Function::is_infinite, below, above}, {node.tensor(0)}, node.shape(0),
                            ElementType::boolean));
}

/// Clips with a minimum and a maximum operation. Used for integers, because a float may be unable to represent their
/// bounds exactly. Also used for bounds that the network computes.
void clip_between(NodeContext& node) {
  const auto shape = node.shape(0);
  auto y = node.tensor(0);
  const auto limit = [&](std::size_t input, Pair kind) {
    if (!node.has(input)) return;
    node.require(element_count(node.shape(input)) == 1, "its bounds must be scalars");
    y = node.emit(Binary{kind}, {y, node.emit(Reshape{}, {node.tensor(input)}, {})}, shape);
  };
  limit(1, Pair::maximum);
  limit(2, Pair::minimum);
  node.set_output(y == node.tensor(0) ? node.emit(Reshape{}, {y}, shape) : y);
}

void clip(NodeContext& node) {
  if (node.opset() < 11) {
    const auto low = node.attribute("min", std::numeric_limits<float>::lowest());
    return activate(node, {Function::clip, low, node.attribute("max", std::numeric_limits<float>::max())});
  }
  const auto is_known = [&](std::size_t input) { return !node.has(input) || node.is_known(input); };
  if (is_integer(node.element_type(0)) || !is_known(1) || !is_known(2)) return clip_between(node);
  const auto bound = [&](std::size_t input, const char* role, float fallback) {
    if (!node.has(input)) return fallback;
    const auto& values = node.floats(input, role);
    node.require(values.size() == 1, "its bounds must be scalars");
    return values.front();
  };
  const auto low = bound(1, "the lower bound", std::numeric_limits<float>::lowest());
  activate(node, {Function::clip, low, bound(2, "the upper bound", std::numeric_limits<float>::max())});
}

TensorId pair(NodeContext& node, Binary binary, TensorId a, Shape a_shape, std::size_t second) {
  return node.emit(binary, {a, node.tensor(second)}, broadcast(node, a_shape, node.shape(second)));
}

template <Pair kind> void binary(NodeContext& node) {
  node.require(node.inputs() == 2, "it needs two inputs");
  require_one_type(node, 0, 2);
  node.set_output(pair(node, {kind}, node.tensor(0), node.shape(0), 1));
}

void divide(NodeContext& node) {
  node.require(node.inputs() == 2, "it needs two inputs");
  const bool integers = is_integer(node.element_type(0));
  return integers ? binary<Pair::divide_integers>(node) : binary<Pair::divide>(node);
}

void modulo(NodeContext& node) {
  const bool remains = node.attribute<std::int64_t>("fmod", 0) != 0;
  return remains ? binary<Pair::remainder>(node) : binary<Pair::modulo>(node);
}

/// Lowers Pow. The result has the type of the base. Integers with floating-point exponents are computed in floats.
void power(NodeContext& node) {
  node.require(node.inputs() == 2, "it needs two inputs");
  const auto type = node.element_type(0);
  const bool integers = is_integer(type) && is_integer(node.element_type(1));
  const auto in = integers ? type : ElementType::float32;
  const auto y = node.emit(Binary{Pair::power}, {node.cast(node.tensor(0), in), node.cast(node.tensor(1), in)},
                           broadcast(node, node.shape(0), node.shape(1)));
  node.set_output(node.cast(y, type));
}

/// Lowers PRelu. The slopes must be broadcastable to x.
void parametric_relu(NodeContext& node) {
  node.require(node.inputs() == 2, "it needs two inputs");
  if (broadcast(node, node.shape(0), node.shape(1)) != node.shape(0))
    node.bad("its slopes are " + to_string(node.shape(1)) + ", and its input is " + to_string(node.shape(0)));
  binary<Pair::slope>(node);
}

/// Lowers a comparison of inputs a and b, or of inputs b and a if `swapped` is set.
template <Pair kind, bool swapped = false> void compare(NodeContext& node) {
  node.require(node.inputs() == 2, "it needs two inputs");
  require_one_type(node, 0, 2);
  std::vector<TensorId> inputs{node.tensor(0), node.tensor(1)};
  if (swapped) std::swap(inputs[0], inputs[1]);
  node.set_output(
      node.emit(Binary{kind}, std::move(inputs), broadcast(node, node.shape(0), node.shape(1)), ElementType::boolean));
}

template <Pair kind> void bits(NodeContext& node) {
  node.require(is_integer(node.element_type(0)), "its inputs must be integers");
  binary<kind>(node);
}

void bits_not(NodeContext& node) {
  const auto type = node.element_type(0);
  node.require(is_integer(type), "its input must be integers");
  node.set_output(node.emit(Binary{Pair::bit_xor}, {node.tensor(0), node.scalar(-1, type)}, node.shape(0)));
}

void shift_bits(NodeContext& node) {
  const auto direction = node.attribute<std::string>("direction");
  if (direction != "LEFT" && direction != "RIGHT") node.bad("direction is " + config::quoted(direction));
  return direction == "LEFT" ? bits<Pair::shift_left>(node) : bits<Pair::shift_right>(node);
}

/// Combines all inputs of the node from left to right with operation `kind`, and returns the result.
template <Pair kind> TensorId all_of(NodeContext& node) {
  node.require(node.inputs() >= 1, "it has no input");
  require_one_type(node, 0, node.inputs());
  auto sum = node.tensor(0);
  auto shape = node.shape(0);
  for (std::size_t i = 1; i < node.inputs(); ++i) {
    sum = pair(node, {kind}, sum, shape, i);
    shape = broadcast(node, shape, node.shape(i));
  }
  return node.inputs() == 1 ? node.emit(Reshape{}, {sum}, shape) : sum;
}

template <Pair kind> void variadic(NodeContext& node) { node.set_output(all_of<kind>(node)); }

void mean(NodeContext& node) {
  const auto sum = all_of<Pair::add>(node);
  Shape shape = node.shape(0);
  for (std::size_t i = 1; i < node.inputs(); ++i) shape = broadcast(node, shape, node.shape(i));
  node.set_output(node.emit(Activation{Function::scale, 1 / static_cast<float>(node.inputs()), 0}, {sum}, shape));
}

void where(NodeContext& node) {
  node.require(node.inputs() == 3, "it needs three inputs");
  node.require(node.element_type(0) == ElementType::boolean, "its condition must be booleans");
  require_one_type(node, 1, 3);
  auto shape = broadcast(node, node.shape(0), broadcast(node, node.shape(1), node.shape(2)));
  const auto type = is_integer(node.element_type(1)) ? node.element_type(1) : ElementType::float32;
  node.set_output(node.emit(Where{}, {node.tensor(0), node.tensor(1), node.tensor(2)}, std::move(shape), type));
}

} // namespace

void add_element_operators(OperatorTable& table) {
  table["Relu"] = {plain<Function::relu>};
  table["Sigmoid"] = {plain<Function::sigmoid>};
  table["HardSwish"] = {plain<Function::hard_swish>, "", 14};
  table["Exp"] = {plain<Function::exp>};
  table["Tanh"] = {plain<Function::tanh>};
  table["Sqrt"] = {plain<Function::sqrt>};
  table["Softplus"] = {plain<Function::softplus>};
  table["Softsign"] = {plain<Function::softsign>};
  table["Mish"] = {plain<Function::mish>, "", 18};
  table["Erf"] = {plain<Function::erf>, "", 9};
  table["Abs"] = {plain<Function::absolute>};
  table["Log"] = {plain<Function::logarithm>};
  table["Reciprocal"] = {plain<Function::reciprocal>};
  table["Sign"] = {plain<Function::sign>, "", 9};
  table["Floor"] = {plain<Function::floor>};
  table["Ceil"] = {plain<Function::ceil>};
  table["Round"] = {plain<Function::round>, "", 11};
  table["Sin"] = {plain<Function::sine>};
  table["Cos"] = {plain<Function::cosine>};
  table["Tan"] = {plain<Function::tangent>};
  table["Asin"] = {plain<Function::arc_sine>};
  table["Acos"] = {plain<Function::arc_cosine>};
  table["Atan"] = {plain<Function::arc_tangent>};
  table["Sinh"] = {plain<Function::sinh>, "", 9};
  table["Cosh"] = {plain<Function::cosh>, "", 9};
  table["Asinh"] = {plain<Function::arc_sinh>, "", 9};
  table["Acosh"] = {plain<Function::arc_cosh>, "", 9};
  table["Atanh"] = {plain<Function::arc_tanh>, "", 9};
  table["LeakyRelu"] = {leaky_relu};
  table["HardSigmoid"] = {hard_sigmoid};
  table["Clip"] = {clip};
  table["Elu"] = {elu};
  table["Selu"] = {selu};
  table["Celu"] = {celu, "", 12};
  table["ThresholdedRelu"] = {thresholded_relu, "", 10};
  table["Shrink"] = {shrink, "", 9};
  table["Gelu"] = {gelu, "", 20};
  table["Swish"] = {swish, "", 24};
  table["Neg"] = {negate};
  table["Not"] = {is_zero};
  table["IsNaN"] = {is_nan, "", 9};
  table["IsInf"] = {is_infinite, "", 10};
  table["Add"] = {binary<Pair::add>};
  table["Sub"] = {binary<Pair::subtract>};
  table["Mul"] = {binary<Pair::multiply>};
  table["Div"] = {divide};
  table["Mod"] = {modulo, "", 10};
  table["Pow"] = {power};
  table["PRelu"] = {parametric_relu};
  table["And"] = {binary<Pair::minimum>};
  table["Or"] = {binary<Pair::maximum>};
  table["Xor"] = {compare<Pair::not_equal>};
  table["Equal"] = {compare<Pair::equal>};
  table["Less"] = {compare<Pair::less>};
  table["LessOrEqual"] = {compare<Pair::less_or_equal>, "", 12};
  table["Greater"] = {compare<Pair::less, true>};
  table["GreaterOrEqual"] = {compare<Pair::less_or_equal, true>, "", 12};
  table["Min"] = {variadic<Pair::minimum>};
  table["Max"] = {variadic<Pair::maximum>};
  table["Sum"] = {variadic<Pair::add>};
  table["Mean"] = {mean};
  table["Where"] = {where, "", 9};
  table["BitwiseAnd"] = {bits<Pair::bit_and>, "", 18};
  table["BitwiseOr"] = {bits<Pair::bit_or>, "", 18};
  table["BitwiseXor"] = {bits<Pair::bit_xor>, "", 18};
  table["BitwiseNot"] = {bits_not, "", 18};
  table["BitShift"] = {shift_bits, "", 11};
}

} // namespace rtexec::tasks::onnx_source
