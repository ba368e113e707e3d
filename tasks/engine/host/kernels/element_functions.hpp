// Functions of one element, in a form that compilers vectorise.
#pragma once

#include "tasks/engine/graph/graph.hpp"
#include "tasks/base/vectorised.hpp"

#include <bit>
#include <cmath>
#include <cstdint>

namespace rtexec::tasks::kernels {

/// The parts of e^x = 2^n e^r: e^r and n. n is an integer in the low bits of a float's bit pattern; it is not
/// converted.
struct Exponential {
  float e_r;
  std::int32_t n; // the low bits are n; the high bits are the bits of `rounder`
};

/// Splits x = n ln 2 + r and evaluates a polynomial in r (Cephes expf), for x from -110 to 90.
RTEXEC_INLINE Exponential exponential_parts(float x) {
  constexpr float log2_e = 1.44269504F, ln2_high = 0.693359375F, ln2_low = -2.12194440e-4F;
  /// 1.5 * 2^23: if a number is added, the low bits of the sum are the nearest integer.
  constexpr float rounder = 12582912.0F;
  const float shifted = x * log2_e + rounder;
  const float n = shifted - rounder;
  const float r = x - n * ln2_high - n * ln2_low;
  float p = 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  return {p * r * r + r + 1.0F, std::bit_cast<std::int32_t>(shifted)};
}

/// Returns e^x within 2 units in the last place. 2^n is applied as two factors, because results may be subnormal or
/// infinite.
RTEXEC_INLINE float exponential(float x) {
  x = x < -110.0F ? -110.0F : x;
  x = x > 90.0F ? 90.0F : x;
  const auto [e_r, n] = exponential_parts(x);
  const auto exponent = n - 0x4b400000; // subtracts the bit pattern of `rounder`
  const auto half = exponent >> 1;
  const auto first = std::bit_cast<float>((half + 127) << 23),
             second = std::bit_cast<float>((exponent - half + 127) << 23);
  return e_r * first * second;
}

/// Returns e^x clamped to [e^-87, e^88], for callers that add to it or divide by it. NaN stays NaN.
RTEXEC_INLINE float bounded_exponential(float x) {
  x = x < -87.0F ? -87.0F : x;
  x = x > 88.0F ? 88.0F : x;
  const auto [e_r, n] = exponential_parts(x);
  /// The shift discards the bits of `rounder`.
  return e_r * std::bit_cast<float>((static_cast<std::uint32_t>(n) << 23) + 0x3f800000U);
}

RTEXEC_INLINE float sigmoid(float x) { return 1.0F / (1.0F + bounded_exponential(-x)); }

RTEXEC_INLINE float at_least(float x, float low) { return x < low ? low : x; }
RTEXEC_INLINE float at_most(float x, float high) { return x > high ? high : x; }

/// Rounds to the nearest integer, ties to even. Adds and subtracts 2^23, since floats of at least 2^23 have no
/// fraction. The result keeps the sign of x, even if it is zero.
RTEXEC_INLINE float rounded(float x) {
  constexpr float whole = 8388608.0F;
  const float size = std::abs(x);
  return size < whole ? std::copysign(size + whole - whole, x) : x;
}

/// Returns tanh x. Near zero it uses a polynomial (Cephes tanhf), because 1 - 2 / (e^2x + 1) would lose digits there.
RTEXEC_INLINE float hyperbolic_tangent(float x) {
  const float z = x * x;
  float p = -5.70498872745e-3F;
  p = p * z + 2.06390887954e-2F;
  p = p * z - 5.37397155531e-2F;
  p = p * z + 1.33314422036e-1F;
  p = p * z - 3.33332819422e-1F;
  const float near = p * z * x + x;
  const float far = 1.0F - 2.0F / (bounded_exponential(2.0F * x) + 1.0F);
  return z < 0.390625F ? near : far;
}

/// Returns the error function of x within a few units in the last place. It is a quotient of polynomials in x^2 on [-4,
/// 4]; outside of this interval x is clamped.
RTEXEC_INLINE float error_function(float x) {
  x = at_most(at_least(x, -4.0F), 4.0F);
  const float z = x * x;
  float p = -2.72614225801306e-10F;
  p = p * z + 2.77068142495902e-08F;
  p = p * z - 2.10102402082508e-06F;
  p = p * z - 5.69250639462346e-05F;
  p = p * z - 7.34990630326855e-04F;
  p = p * z - 2.95459980854025e-03F;
  p = p * z - 1.60960333262415e-02F;
  float q = -1.45660718464996e-05F;
  q = q * z - 2.13374055278905e-04F;
  q = q * z - 1.68282697438203e-03F;
  q = q * z - 7.37332916720468e-03F;
  q = q * z - 1.42647390514189e-02F;
  return x * p / q;
}

/// Returns x tanh(log(1 + e^x)), computed as x (u - 1) / (u + 1) with u = (1 + e^x)^2. For large x, for which u would
/// overflow, the result is x.
RTEXEC_INLINE float mish(float x) {
  const float e = exponential(at_most(x, 30.0F));
  const float n = e * (e + 2.0F);
  return x * (n / (n + 2.0F));
}

/// Applies an activation whose kind is known at compile time, so that loops contain no branch on the kind. NaN stays
/// NaN.
template <Activation::Kind kind>
RTEXEC_INLINE float activate(float x, [[maybe_unused]] float a, [[maybe_unused]] float b) {
  using enum Activation::Kind;
  if constexpr (kind == relu) return at_least(x, 0.0F);
  else if constexpr (kind == leaky_relu) return x < 0.0F ? x * a : x;
  else if constexpr (kind == sigmoid) return kernels::sigmoid(x);
  else if constexpr (kind == hard_sigmoid) return at_most(at_least(a * x + b, 0.0F), 1.0F);
  else if constexpr (kind == hard_swish) return x * at_most(at_least(x * (1.0F / 6.0F) + 0.5F, 0.0F), 1.0F);
  else if constexpr (kind == clip) return at_most(at_least(x, a), b);
  else if constexpr (kind == exp) return exponential(x);
  else if constexpr (kind == tanh) return hyperbolic_tangent(x);
  else if constexpr (kind == sqrt) return std::sqrt(x);
  else if constexpr (kind == swish) return x / (1.0F + bounded_exponential(-x));
  else if constexpr (kind == scale) return a * x + b;
  else if constexpr (kind == elu) return x < 0.0F ? a * (exponential(x) - 1.0F) : x;
  else if constexpr (kind == selu) return b * (x < 0.0F ? a * (exponential(x) - 1.0F) : x);
  else if constexpr (kind == mish) return kernels::mish(x);
  else if constexpr (kind == gelu) return 0.5F * x * (1.0F + error_function(x * 0.707106781F));
  else if constexpr (kind == gelu_tanh)
    return 0.5F * x * (1.0F + hyperbolic_tangent(0.797884561F * (x + 0.044715F * x * x * x)));
  else return x;
}

/// Calls f with the kind of a common activation as a compile-time constant.
template <class F> RTEXEC_INLINE void with_kind(Activation::Kind kind, F f) {
  using Kind = Activation::Kind;
  switch (kind) {
  case Kind::none: f.template operator()<Kind::none>(); break;
  case Kind::relu: f.template operator()<Kind::relu>(); break;
  case Kind::leaky_relu: f.template operator()<Kind::leaky_relu>(); break;
  case Kind::sigmoid: f.template operator()<Kind::sigmoid>(); break;
  case Kind::hard_sigmoid: f.template operator()<Kind::hard_sigmoid>(); break;
  case Kind::hard_swish: f.template operator()<Kind::hard_swish>(); break;
  case Kind::clip: f.template operator()<Kind::clip>(); break;
  case Kind::exp: f.template operator()<Kind::exp>(); break;
  case Kind::tanh: f.template operator()<Kind::tanh>(); break;
  case Kind::sqrt: f.template operator()<Kind::sqrt>(); break;
  case Kind::swish: f.template operator()<Kind::swish>(); break;
  case Kind::scale: f.template operator()<Kind::scale>(); break;
  case Kind::elu: f.template operator()<Kind::elu>(); break;
  case Kind::selu: f.template operator()<Kind::selu>(); break;
  case Kind::mish: f.template operator()<Kind::mish>(); break;
  case Kind::gelu: f.template operator()<Kind::gelu>(); break;
  case Kind::gelu_tanh: f.template operator()<Kind::gelu_tanh>(); break;
  default: break;
  }
}

} // namespace rtexec::tasks::kernels
