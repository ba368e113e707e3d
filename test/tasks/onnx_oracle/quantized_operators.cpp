#include "test/tasks/onnx_oracle/broadcast.hpp"
#include "test/tasks/onnx_oracle/products.hpp"

#include <algorithm>
#include <cmath>

namespace rtexec::test {
namespace {

/// The factor of the element at `at`: one of all, one of its place along `axis`, or one of its block.
double factor_at(const Operator& n, const Array& factors, const Ints& at) {
  if (factors.size() == 1) return factors[0];
  const std::size_t axis = place(n.get<Index>("axis", 1), n.in(0).rank());
  if (factors.rank() == 1 && n.get<Index>("block_size", 0) == 0) return factors[at[axis]];
  Ints block = at;
  block[axis] /= n.get<Index>("block_size", 1);
  return factors[offset(factors.shape, block)];
}
double zero_at(const Operator& n, const Ints& at) { return n.has(2) ? factor_at(n, n.in(2), at) : 0; }

/// A division has the precision of what it divides: float32.
double divided(double a, double b) { return static_cast<float>(a) / static_cast<float>(b); }

/// saturate(round(x) + zero).
double with_zero(double x, double zero, Kind kind) { return saturated(std::nearbyint(x) + zero, kind); }

Array quantize(const Operator& n) {
  const Array& x = n.in(0);
  const Index asked = n.get<Index>("output_dtype", 0);
  Array y(x.shape, n.has(2) ? n.in(2).kind : asked != 0 ? kind_of(asked) : Kind::uint8);
  for_each_index(x.shape, [&](const Ints& at) {
    const Index i = offset(x.shape, at);
    y[i] = with_zero(divided(x[i], factor_at(n, n.in(1), at)), zero_at(n, at), y.kind);
  });
  return y;
}

Array dequantize(const Operator& n) {
  const Array& x = n.in(0);
  Array y(x.shape);
  for_each_index(x.shape, [&](const Ints& at) {
    const Index i = offset(x.shape, at);
    y[i] = (x[i] - zero_at(n, at)) * factor_at(n, n.in(1), at);
  });
  return y;
}

std::vector<Array> dynamic_quantize(const Operator& n) {
  const Array& x = n.in(0);
  const double low = std::min(0.0, std::ranges::min(x.values)), high = std::max(0.0, std::ranges::max(x.values));
  Array y(x.shape, Kind::uint8), scale{Ints{}}, zero(Ints{}, Kind::uint8);
  scale[0] = divided(static_cast<float>(high) - static_cast<float>(low), 255);
  zero[0] = saturated(divided(-low, scale[0]), Kind::uint8);
  for (Index i = 0; i < x.size(); ++i) y[i] = with_zero(divided(x[i], scale[0]), zero[0], y.kind);
  return {y, scale, zero};
}

/// `x` without its zero point: of all, or of each place along `axis`.
Array without_zero(const Array& x, const Array* zero, std::size_t axis) {
  Array y = x;
  y.kind = Kind::real;
  if (zero == nullptr) return y;
  for_each_index(x.shape,
                 [&](const Ints& at) { y[offset(x.shape, at)] -= zero->size() == 1 ? (*zero)[0] : (*zero)[at[axis]]; });
  return y;
}

const Array* given(const Operator& n, std::size_t input) { return n.has(input) ? &n.in(input) : nullptr; }

Array conv_integer(const Operator& n) {
  return convolution(n, without_zero(n.in(0), given(n, 2), 0), without_zero(n.in(1), given(n, 3), 0), Kind::int32);
}

Array qlinear_conv(const Operator& n) { // inputs: x, w and y, each with its scale and zero point; bias
  const Array sums =
      convolution(n, without_zero(n.in(0), &n.in(2), 0), without_zero(n.in(3), &n.in(5), 0), Kind::int32);
  const Array& w_scale = n.in(4);
  Array y(sums.shape, n.in(7).kind);
  for_each_index(y.shape, [&](const Ints& at) {
    const Index i = offset(y.shape, at);
    const double sum = sums[i] + (n.has(8) ? n.in(8)[at[1]] : 0);
    const double scale = n.in(1)[0] * w_scale[w_scale.size() == 1 ? 0 : at[1]] / n.in(6)[0];
    y[i] = with_zero(sum * scale, n.in(7)[0], y.kind);
  });
  return y;
}

/// A vector of rows, or of columns, beside matrices.
Array beside(Array x, bool rows) {
  if (rows && x.rank() == 1) x.shape.push_back(1);
  return x;
}

Array shifted(const Array& x, const Array* zero, bool rows) {
  if (zero == nullptr) return x;
  return combine(x, beside(*zero, rows), Kind::real, [](double a, double b) { return a - b; });
}

Array matmul_integer(const Operator& n) {
  return matrix_product(shifted(n.in(0), given(n, 2), true), shifted(n.in(1), given(n, 3), false), Kind::int32);
}

Array qlinear_matmul(const Operator& n) { // inputs: a, b and y, each with its scale and zero point
  const Array sums = matrix_product(shifted(n.in(0), &n.in(2), true), shifted(n.in(3), &n.in(5), false), Kind::int32);
  const Array a_scale = beside(n.in(1), true), b_scale = beside(n.in(4), false);
  Array y(sums.shape, n.in(7).kind);
  for_each_index(y.shape, [&](const Ints& at) {
    const Index i = offset(y.shape, at);
    const double scale = broadcast_element(a_scale, at) * broadcast_element(b_scale, at) / n.in(6)[0];
    y[i] = with_zero(sums[i] * scale, n.in(7)[0], y.kind);
  });
  return y;
}

} // namespace

Functions quantized_operators() {
  return {
      {"QuantizeLinear", quantize},     {"DequantizeLinear", dequantize}, {"DynamicQuantizeLinear", dynamic_quantize},
      {"ConvInteger", conv_integer},    {"QLinearConv", qlinear_conv},    {"MatMulInteger", matmul_integer},
      {"QLinearMatMul", qlinear_matmul}};
}

} // namespace rtexec::test
