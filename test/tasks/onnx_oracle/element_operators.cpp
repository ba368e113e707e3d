#include "test/tasks/onnx_oracle/broadcast.hpp"
#include "test/tasks/onnx_oracle/oracle.hpp"

#include <cmath>
#include <limits>
#include <numbers>

namespace rtexec::test {
namespace {

template <class F> Array map(const Operator& n, F&& f) {
  Array y = n.in(0);
  for (double& value : y.values) value = wrapped(f(value), y.kind);
  return y;
}

/// Applies a function without attributes to each element.
template <auto f> Array each(const Operator& n) { return map(n, f); }

template <class F> Array test_each(const Operator& n, F&& f) {
  Array y = n.in(0);
  y.kind = Kind::boolean;
  for (double& value : y.values) value = f(value) ? 1 : 0;
  return y;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }
double sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }

Array leaky_relu(const Operator& n) {
  const double alpha = n.get("alpha", 0.01F);
  return map(n, [=](double x) { return x < 0 ? alpha * x : x; });
}
Array hard_sigmoid(const Operator& n) {
  const double alpha = n.get("alpha", 0.2F), beta = n.get("beta", 0.5F);
  return map(n, [=](double x) { return std::clamp(alpha * x + beta, 0.0, 1.0); });
}
Array elu(const Operator& n) {
  const double alpha = n.get("alpha", 1.0F);
  return map(n, [=](double x) { return x < 0 ? alpha * std::expm1(x) : x; });
}
Array selu(const Operator& n) {
  const double alpha = n.get("alpha", 1.67326319217681884765625F), gamma = n.get("gamma", 1.05070102214813232421875F);
  return map(n, [=](double x) { return gamma * (x > 0 ? x : alpha * std::expm1(x)); });
}
Array celu(const Operator& n) {
  const double alpha = n.get("alpha", 1.0F);
  return map(n, [=](double x) { return std::max(0.0, x) + std::min(0.0, alpha * std::expm1(x / alpha)); });
}
Array thresholded_relu(const Operator& n) {
  const double alpha = n.get("alpha", 1.0F);
  return map(n, [=](double x) { return x > alpha ? x : 0; });
}
Array swish(const Operator& n) {
  const double alpha = n.get("alpha", 1.0F);
  return map(n, [=](double x) { return x * sigmoid(alpha * x); });
}
Array shrink(const Operator& n) {
  const double lambda = n.get("lambd", 0.5F), bias = n.get("bias", 0.0F);
  return map(n, [=](double x) { return x < -lambda ? x + bias : x > lambda ? x - bias : 0; });
}
Array gelu(const Operator& n) {
  if (n.get<std::string>("approximate", "none") == "tanh")
    return map(n, [](double x) {
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
    });
  return map(n, [](double x) { return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2)); });
}

Array clip(const Operator& n) {
  const Limits all = limits(n.in(0).kind);
  const double low = n.has(1) ? n.in(1)[0] : all.low, high = n.has(2) ? n.in(2)[0] : all.high;
  return map(n, [=](double x) { return std::min(std::max(x, low), high); });
}

Array is_nan(const Operator& n) {
  return test_each(n, [](double x) { return std::isnan(x); });
}
Array is_infinite(const Operator& n) {
  const bool negative = n.get<Index>("detect_negative", 1) != 0, positive = n.get<Index>("detect_positive", 1) != 0;
  return test_each(n, [=](double x) { return std::isinf(x) && (x < 0 ? negative : positive); });
}
Array invert(const Operator& n) {
  return test_each(n, [](double x) { return x == 0; });
}

/// Combines two operands. The result has the kind of the first.
template <auto f> Array both(const Operator& n) { return combine(n.in(0), n.in(1), n.in(0).kind, f); }
template <auto f> Array compare(const Operator& n) { return combine(n.in(0), n.in(1), Kind::boolean, f); }

Array remainder(const Operator& n) {
  if (n.get<Index>("fmod", 0) != 0) return both<[](double a, double b) { return std::fmod(a, b); }>(n);
  return both<[](double a, double b) { return a - std::floor(a / b) * b; }>(n); // with the sign of the divisor
}

template <auto f> Array all(const Operator& n) {
  Array y = n.in(0);
  for (std::size_t i = 1; i < n.inputs.size(); ++i) y = combine(y, n.in(i), y.kind, f);
  return y;
}
constexpr auto sum_of = [](double a, double b) { return a + b; };

Array mean(const Operator& n) {
  Array y = all<sum_of>(n);
  for (double& value : y.values) value /= static_cast<double>(n.inputs.size());
  return y;
}

Array where(const Operator& n) {
  const Array &condition = n.in(0), &yes = n.in(1), &no = n.in(2);
  Array y(broadcast(condition.shape, broadcast(yes.shape, no.shape)), yes.kind);
  for_each_index(y.shape, [&](const Ints& at) {
    y[offset(y.shape, at)] = broadcast_element(broadcast_element(condition, at) != 0 ? yes : no, at);
  });
  return y;
}

Array same(const Operator& n) { return n.in(0); }

Functions activations() {
  return {{"Relu", each<[](double x) { return std::max(0.0, x); }>},
          {"LeakyRelu", leaky_relu},
          {"ThresholdedRelu", thresholded_relu},
          {"PRelu", both<[](double x, double slope) { return x < 0 ? slope * x : x; }>},
          {"Sigmoid", each<sigmoid>},
          {"HardSigmoid", hard_sigmoid},
          {"HardSwish", each<[](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); }>},
          {"Swish", swish},
          {"Mish", each<[](double x) { return x * std::tanh(softplus(x)); }>},
          {"Elu", elu},
          {"Selu", selu},
          {"Celu", celu},
          {"Gelu", gelu},
          {"Softplus", each<softplus>},
          {"Softsign", each<[](double x) { return x / (1 + std::abs(x)); }>},
          {"Shrink", shrink},
          {"Clip", clip}};
}

Functions functions_of_one() {
  return {{"Sin", each<[](double x) { return std::sin(x); }>},
          {"Cos", each<[](double x) { return std::cos(x); }>},
          {"Tan", each<[](double x) { return std::tan(x); }>},
          {"Asin", each<[](double x) { return std::asin(x); }>},
          {"Acos", each<[](double x) { return std::acos(x); }>},
          {"Atan", each<[](double x) { return std::atan(x); }>},
          {"Sinh", each<[](double x) { return std::sinh(x); }>},
          {"Cosh", each<[](double x) { return std::cosh(x); }>},
          {"Tanh", each<[](double x) { return std::tanh(x); }>},
          {"Asinh", each<[](double x) { return std::asinh(x); }>},
          {"Acosh", each<[](double x) { return std::acosh(x); }>},
          {"Atanh", each<[](double x) { return std::atanh(x); }>},
          {"Exp", each<[](double x) { return std::exp(x); }>},
          {"Log", each<[](double x) { return std::log(x); }>},
          {"Sqrt", each<[](double x) { return std::sqrt(x); }>},
          {"Erf", each<[](double x) { return std::erf(x); }>},
          {"Floor", each<[](double x) { return std::floor(x); }>},
          {"Ceil", each<[](double x) { return std::ceil(x); }>},
          {"Round", each<[](double x) { return std::nearbyint(x); }>},
          {"Abs", each<[](double x) { return std::abs(x); }>},
          {"Neg", each<[](double x) { return -x; }>},
          {"Reciprocal", each<[](double x) { return 1 / x; }>},
          {"Sign", each<sign>},
          {"IsNaN", is_nan},
          {"IsInf", is_infinite},
          {"Not", invert},
          {"Identity", same}};
}

Functions functions_of_several() {
  return {{"Add", both<sum_of>},
          {"Sub", both<[](double a, double b) { return a - b; }>},
          {"Mul", both<[](double a, double b) { return a * b; }>},
          {"Div", both<[](double a, double b) { return a / b; }>}, // an integer loses its fraction
          {"Pow", both<[](double a, double b) { return std::pow(a, b); }>},
          {"Mod", remainder},
          {"Min", all<[](double a, double b) { return std::min(a, b); }>},
          {"Max", all<[](double a, double b) { return std::max(a, b); }>},
          {"Sum", all<sum_of>},
          {"Mean", mean},
          {"Where", where},
          {"Equal", compare<[](double a, double b) { return a == b; }>},
          {"Greater", compare<[](double a, double b) { return b < a; }>},
          {"GreaterOrEqual", compare<[](double a, double b) { return b <= a; }>},
          {"Less", compare<[](double a, double b) { return a < b; }>},
          {"LessOrEqual", compare<[](double a, double b) { return a <= b; }>},
          {"And", compare<[](double a, double b) { return a != 0 && b != 0; }>},
          {"Or", compare<[](double a, double b) { return a != 0 || b != 0; }>},
          {"Xor", compare<[](double a, double b) { return (a != 0) != (b != 0); }>}};
}

} // namespace

Functions element_operators() {
  Functions functions = activations();
  functions.merge(functions_of_one());
  functions.merge(functions_of_several());
  return functions;
}

} // namespace rtexec::test
