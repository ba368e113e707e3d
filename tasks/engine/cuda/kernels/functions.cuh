// Element-wise functions that are made of basic operations and so need no library. Their definitions agree with the
// host functions (tasks/engine/host/kernels/element_functions.hpp).
#pragma once

#include "tasks/engine/cuda/kernels/network_arguments.hpp"
#include "tasks/engine/cuda/kernels/primitives.cuh"

namespace rtexec::tasks::cuda {

constexpr float infinity = __builtin_huge_valf();
constexpr float to_base_2 = 1.44269504F; // log2(e): factor from exponents of e to exponents of 2

DEVICE float at_least(float x, float low) { return x < low ? low : x; }
DEVICE float at_most(float x, float high) { return x > high ? high : x; }

/// Returns x * 2^n for -252 <= n <= 254. The result is exact if a float can represent it.
DEVICE float scaled(float x, int n) {
  const int half = n >> 1;
  return x * bits_float(static_cast<unsigned>(half + 127) << 23U) *
         bits_float(static_cast<unsigned>(n - half + 127) << 23U);
}

/// Returns e^r for |r| <= 0.35 (Cephes expf).
DEVICE float exponential_near_zero(float r) {
  float p = 1.9875691500e-4F;
  p = multiply_add(p, r, 1.3981999507e-3F);
  p = multiply_add(p, r, 8.3334519073e-3F);
  p = multiply_add(p, r, 4.1665795894e-2F);
  p = multiply_add(p, r, 1.6666665459e-1F);
  p = multiply_add(p, r, 5.0000001201e-1F);
  return multiply_add(p * r, r, r) + 1.0F;
}

/// 1.5 * 2^23. Adding it to a small number rounds that number to an integer, which is in the low bits of the sum.
constexpr float rounder = 12582912.0F;

/// Returns e^x within 2 units in the last place, also for subnormal results.
DEVICE float exponential(float x) {
  x = at_most(at_least(x, -110.0F), 90.0F);
  const float shifted = multiply_add(x, to_base_2, rounder);
  const float n = shifted - rounder;
  const float r = multiply_add(n, 2.12194440e-4F, multiply_add(n, -0.693359375F, x));
  return scaled(exponential_near_zero(r), static_cast<int>(float_bits(shifted) - float_bits(rounder)));
}

constexpr float two_to_23 = 8388608.0F; // all floats from this value on are integers

DEVICE float absolute(float x) { return bits_float(float_bits(x) & 0x7fffffffU); }
DEVICE float with_sign(float x, float of) { return bits_float(float_bits(x) | (float_bits(of) & 0x80000000U)); }

/// Rounds to the nearest integer, ties to even.
DEVICE float nearest_integer(float x) {
  const float size = absolute(x);
  return size < two_to_23 ? with_sign(size + two_to_23 - two_to_23, x) : x;
}
DEVICE float floor_of(float x) {
  const float whole = nearest_integer(x);
  return whole > x ? whole - 1.0F : whole;
}

/// The parts of a logarithm: log(x) = exponent * log(2) + rest, for 0 < x < infinity.
struct Logarithm {
  float exponent, rest;
};
DEVICE Logarithm logarithm_parts(float x) {
  int exponent = 0;
  if (x < 1.17549435e-38F) {
    x *= 16777216.0F;
    exponent = -24;
  }
  // Splits x = 2^exponent * m with m in [sqrt(1/2), sqrt(2)). A polynomial gives log(m) (Cephes logf).
  const unsigned bits = float_bits(x) - 0x3f3504f3U;
  exponent += static_cast<int>(bits) >> 23;
  const float f = bits_float((bits & 0x7fffffU) + 0x3f3504f3U) - 1.0F;
  float p = 7.0376836292e-2F;
  p = multiply_add(p, f, -1.1514610310e-1F);
  p = multiply_add(p, f, 1.1676998740e-1F);
  p = multiply_add(p, f, -1.2420140846e-1F);
  p = multiply_add(p, f, 1.4249322787e-1F);
  p = multiply_add(p, f, -1.6668057665e-1F);
  p = multiply_add(p, f, 2.0000714765e-1F);
  p = multiply_add(p, f, -2.4999993993e-1F);
  p = multiply_add(p, f, 3.3333331174e-1F);
  return {static_cast<float>(exponent), multiply_add(p * f * f, f, multiply_add(f * f, -0.5F, f))};
}

/// Returns log(x) within a few units in the last place, or NaN for x < 0.
DEVICE float logarithm(float x) {
  if (!(x >= 0.0F)) return bits_float(0x7fc00000U);
  if (x == 0.0F) return -infinity;
  if (x == infinity) return x;
  const Logarithm parts = logarithm_parts(x);
  return multiply_add(parts.exponent, 0.693359375F, multiply_add(parts.exponent, -2.12194440e-4F, parts.rest));
}

/// Returns x^y within a few units in the last place. Returns NaN if x < 0 and y is not an integer.
DEVICE float power(float x, float y) {
  if (y == 0.0F || x == 1.0F) return 1.0F;
  if (x < 0.0F) {
    if (nearest_integer(y) != y) return bits_float(0x7fc00000U);
    const float size = power(-x, y), half = y * 0.5F;
    return nearest_integer(half) == half ? size : -size;
  }
  if (x != x || y != y) return bits_float(0x7fc00000U);
  if (x == 0.0F) return y > 0.0F ? 0.0F : infinity;
  if (x == infinity) return y > 0.0F ? infinity : 0.0F;
  // Computes the integer part of y * log2(x) separately, so that the fraction keeps its precision.
  const Logarithm parts = logarithm_parts(x);
  const float fraction = y * parts.rest * to_base_2;
  const float n = at_most(at_least(multiply_add(y, parts.exponent, fraction), -252.0F), 252.0F) + rounder - rounder;
  const float r = at_most(at_least(multiply_add(y, parts.exponent, -n) + fraction, -1.0F), 1.0F);
  return scaled(exponential_near_zero(r * 0.693147181F), static_cast<int>(n));
}

DEVICE float hyperbolic_tangent(float x) {
  const float z = x * x;
  float p = -5.70498872745e-3F;
  p = multiply_add(p, z, 2.06390887954e-2F);
  p = multiply_add(p, z, -5.37397155531e-2F);
  p = multiply_add(p, z, 1.33314422036e-1F);
  p = multiply_add(p, z, -3.33332819422e-1F);
  if (z < 0.390625F) return multiply_add(p * z, x, x);
  return 1.0F - 2.0F * inverse(exponential(2.0F * x) + 1.0F);
}

/// Returns the error function of x, as a quotient of polynomials in x^2 on [-4, 4]. If x is outside of this interval,
/// returns the value at the nearer end.
DEVICE float error_function(float x) {
  x = at_most(at_least(x, -4.0F), 4.0F);
  const float z = x * x;
  float p = -2.72614225801306e-10F;
  p = multiply_add(p, z, 2.77068142495902e-08F);
  p = multiply_add(p, z, -2.10102402082508e-06F);
  p = multiply_add(p, z, -5.69250639462346e-05F);
  p = multiply_add(p, z, -7.34990630326855e-04F);
  p = multiply_add(p, z, -2.95459980854025e-03F);
  p = multiply_add(p, z, -1.60960333262415e-02F);
  float q = -1.45660718464996e-05F;
  q = multiply_add(q, z, -2.13374055278905e-04F);
  q = multiply_add(q, z, -1.68282697438203e-03F);
  q = multiply_add(q, z, -7.37332916720468e-03F);
  q = multiply_add(q, z, -1.42647390514189e-02F);
  return x * p * inverse(q);
}

} // namespace rtexec::tasks::cuda
