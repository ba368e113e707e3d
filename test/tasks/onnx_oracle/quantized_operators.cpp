#include "test/tasks/onnx_oracle/broadcast.hpp"
#include "test/tasks/onnx_oracle/products.hpp"

#include <algorithm>
#include <cmath>

namespace rtexec::test {
namespace {

/// Returns the factor of the element at `at`: the only one, the one of its position along `axis`, or the one of its
/// block.
double factor_at(const Operator& n, const Array& factors, const Ints& at) {
  if (factors.size() == 1) return factors[0];
  const std::size_t axis = place(n.get<Index>("axis", 1), n.in(0).rank());
  if (factors.rank() == 1 && n.get<Index>("block_size", 0) == 0) return factors[at[axis]];
  Ints block = at;
  block[axis] /= n.get<Index>("block_size", 1);
  return factors[offset(factors.shape, block)];
}
double zero_at(const Operator& n, const Ints& at) { return n.has(2) ? factor_at(n, n.in(2), at) : 0; }

/// Divides in float32, the precision of the dividend.
double divided(double a, double b) { return static_cast<float>(a) / static_cast<float>(b); }

/// Returns saturate(round(x) + zero).
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

/// Returns `x` minus its zero point, a single one or one for each position along `axis`.
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

/// Shapes factors of rows or of columns for broadcasting with matrices.
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

// ---- com.microsoft, as onnxruntime documents it

/// Returns (x - zero) * scale for the tensor at `input`, which its scale and zero point follow.
Array real_number(const Operator& n, std::size_t input) {
  Array y = without_zero(n.in(input), given(n, input + 2), 0);
  for (double& value : y.values) value *= n.in(input + 1)[0];
  return y;
}

Array with_scale(const Operator& n, const Array& x, std::size_t scale) {
  const Array* zero = given(n, scale + 1);
  Array y(x.shape, zero != nullptr ? zero->kind : n.in(0).kind);
  for (Index i = 0; i < y.size(); ++i)
    y[i] = with_zero(x[i] / n.in(scale)[0], zero != nullptr ? (*zero)[0] : 0, y.kind);
  return y;
}

template <class F> Array microsoft_pair(const Operator& n, F f) {
  return with_scale(n, combine(real_number(n, 0), real_number(n, 3), Kind::real, f), 6);
}
Array microsoft_add(const Operator& n) {
  return microsoft_pair(n, [](double a, double b) { return a + b; });
}
Array microsoft_multiply(const Operator& n) {
  return microsoft_pair(n, [](double a, double b) { return a * b; });
}

template <class F> Array microsoft_function(const Operator& n, F f) {
  Array y = real_number(n, 0);
  for (double& value : y.values) value = f(value);
  return with_scale(n, y, 3);
}
Array microsoft_sigmoid(const Operator& n) {
  return microsoft_function(n, [](double x) { return 1 / (1 + std::exp(-x)); });
}
Array microsoft_leaky_relu(const Operator& n) {
  const double alpha = n.get<float>("alpha", 0.01F);
  return microsoft_function(n, [=](double x) { return x < 0 ? alpha * x : x; });
}

Array microsoft_average(const Operator& n) {
  const Array x = real_number(n, 0);
  Ints shape(x.shape.size(), 1);
  shape[0] = x.shape[0];
  shape[1] = x.shape[1];
  Array y(shape);
  for_each_index(x.shape, [&](const Ints& at) {
    Ints to(at.size(), 0);
    to[0] = at[0];
    to[1] = at[1];
    y[offset(shape, to)] += x[offset(x.shape, at)] * static_cast<double>(y.size()) / static_cast<double>(x.size());
  });
  return with_scale(n, y, 3);
}

Array microsoft_concat(const Operator& n) {
  const std::size_t axis = place(n.get<Index>("axis", 0), n.in(2).rank());
  Ints shape = n.in(2).shape;
  shape[axis] = 0;
  for (std::size_t i = 2; i < n.inputs.size(); i += 3) shape[axis] += n.in(i).shape[axis];
  Array y(shape, n.in(1).kind);
  Index first = 0;
  for (std::size_t i = 2; i < n.inputs.size(); i += 3) {
    const Array x = real_number(n, i);
    for_each_index(x.shape, [&](Ints at) {
      const double value = with_zero(x[offset(x.shape, at)] / n.in(0)[0], n.in(1)[0], y.kind);
      at[axis] += first;
      y[offset(shape, at)] = value;
    });
    first += x.shape[axis];
  }
  return y;
}

Array transposed(const Array& x, bool swap) {
  if (!swap) return x;
  Array y(Ints{x.shape[1], x.shape[0]}, x.kind);
  for_each_index(y.shape, [&](const Ints& at) { y[offset(y.shape, at)] = x[offset(x.shape, {at[1], at[0]})]; });
  return y;
}

Array microsoft_gemm(const Operator& n) { // inputs: a and b, each with its scale and zero point; c; those of y
  const bool swap_b = n.get<Index>("transB", 0) != 0;
  const Array a = transposed(without_zero(n.in(0), given(n, 2), 0), n.get<Index>("transA", 0) != 0);
  const Array b = transposed(without_zero(n.in(3), given(n, 5), swap_b ? 0 : 1), swap_b);
  Array sums = matrix_product(a, b, Kind::real);
  const Array& b_scale = n.in(4);
  for_each_index(sums.shape, [&](const Ints& at) {
    const double c = n.has(6) ? broadcast_element(n.in(6), at) : 0;
    double& sum = sums[offset(sums.shape, at)];
    sum = (sum + c) * n.get<float>("alpha", 1.0F) * n.in(1)[0] * b_scale[b_scale.size() == 1 ? 0 : at[1]];
  });
  return n.has(7) ? with_scale(n, sums, 7) : sums;
}

} // namespace

Functions quantized_operators() {
  return {{"QuantizeLinear", quantize},
          {"DequantizeLinear", dequantize},
          {"DynamicQuantizeLinear", dynamic_quantize},
          {"ConvInteger", conv_integer},
          {"QLinearConv", qlinear_conv},
          {"MatMulInteger", matmul_integer},
          {"QLinearMatMul", qlinear_matmul},
          {"com.microsoft.QLinearAdd", microsoft_add},
          {"com.microsoft.QLinearMul", microsoft_multiply},
          {"com.microsoft.QLinearSigmoid", microsoft_sigmoid},
          {"com.microsoft.QLinearLeakyRelu", microsoft_leaky_relu},
          {"com.microsoft.QLinearGlobalAveragePool", microsoft_average},
          {"com.microsoft.QLinearConcat", microsoft_concat},
          {"com.microsoft.QGemm", microsoft_gemm}};
}

} // namespace rtexec::test
