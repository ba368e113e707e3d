// Element functions in a form that compilers vectorise.
#pragma once

#include "tasks/dnn/graph/graph.hpp"
#include "tasks/dnn/kernels/vectorised.hpp"

#include <bit>
#include <cmath>
#include <cstdint>

namespace rtexec::tasks::kernels {

/// e^x within 2 units in the last place: x = n ln 2 + r, a polynomial in r (Cephes expf), and 2^n in two factors so
/// that results may be subnormal or infinite.
RTEXEC_INLINE float exponential(float x) {
  constexpr float log2_e = 1.44269504F, ln2_high = 0.693359375F, ln2_low = -2.12194440e-4F;
  constexpr float rounder = 12582912.0F; // 1.5 * 2^23: adding it leaves the nearest integer in the low bits
  x = x < -110.0F ? -110.0F : x;
  x = x > 90.0F ? 90.0F : x;
  const float shifted = x * log2_e + rounder;
  const float n = shifted - rounder;
  const float r = x - n * ln2_high - n * ln2_low;
  float p = 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * r * r + r + 1.0F;
  const auto exponent = std::bit_cast<std::int32_t>(shifted) - std::bit_cast<std::int32_t>(rounder);
  const auto half = exponent >> 1;
  const auto first = std::bit_cast<float>((half + 127) << 23),
             second = std::bit_cast<float>((exponent - half + 127) << 23);
  return p * first * second;
}

RTEXEC_INLINE float sigmoid(float x) { return 1.0F / (1.0F + exponential(-x)); }

RTEXEC_INLINE float at_least(float x, float low) { return x < low ? low : x; }
RTEXEC_INLINE float at_most(float x, float high) { return x > high ? high : x; }

/// tanh by a polynomial near zero (Cephes tanhf), where 1 - 2 / (e^2x + 1) would cancel.
RTEXEC_INLINE float hyperbolic_tangent(float x) {
  const float z = x * x;
  float p = -5.70498872745e-3F;
  p = p * z + 2.06390887954e-2F;
  p = p * z - 5.37397155531e-2F;
  p = p * z + 1.33314422036e-1F;
  p = p * z - 3.33332819422e-1F;
  const float near = p * z * x + x;
  const float far = 1.0F - 2.0F / (exponential(2.0F * x) + 1.0F);
  return z < 0.390625F ? near : far;
}

/// f(i, activation) for the kind given at compile time, so that the loop has no choice in it. A NaN stays a NaN.
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
  else if constexpr (kind == swish) return x / (1.0F + exponential(-x));
  else return x;
}

/// Calls f with the activation's kind as a compile-time constant.
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
  }
}

} // namespace rtexec::tasks::kernels
