// Element-wise functions that networks rarely use, made of basic operations. Their results agree with the host
// functions (tasks/engine/host/kernels/rare_functions.cpp) within some units in the last place of the functions'
// largest values.
#pragma once

#include "tasks/engine/cuda/kernels/functions.cuh"

namespace rtexec::tasks::cuda {

constexpr float half_pi = 1.57079633F;

/// Returns log(1 + x).
DEVICE float logarithm_above_one(float x) {
  const float u = 1.0F + x;
  return u == 1.0F || u == infinity ? (u == 1.0F ? x : u) : logarithm(u) * (x / (u - 1.0F));
}

/// Returns the sine of x + quarter * pi / 2. The angle is reduced in double precision, which suffices for |x| < 1e8.
DEVICE float sine_of(float x, int quarter) {
  constexpr double two_over_pi = 0.63661977236758134, high = 1.5707963267948966, low = 6.123233995736766e-17;
  constexpr double rounding = 6755399441055744.0; // 1.5 * 2^52: adding it removes the fraction
  const double n = static_cast<double>(x) * two_over_pi + rounding - rounding;
  const double reduced = (static_cast<double>(x) - n * high) - n * low;
  const auto r = static_cast<float>(reduced);
  const float z = r * r;
  const int turns = (static_cast<int>(static_cast<long long>(n) & 3) + quarter) & 3;
  float value;
  if (turns & 1) {
    float p = 2.443315711809948e-5F;
    p = multiply_add(p, z, -1.388731625493765e-3F);
    p = multiply_add(p, z, 4.166664568298827e-2F);
    value = multiply_add(p * z, z, multiply_add(z, -0.5F, 1.0F));
  } else {
    float p = -1.9515295891e-4F;
    p = multiply_add(p, z, 8.3321608736e-3F);
    p = multiply_add(p, z, -1.6666654611e-1F);
    value = multiply_add(p * z, r, r);
  }
  return turns & 2 ? -value : value;
}

DEVICE float arc_tangent(float given) {
  float x = absolute(given), base = 0;
  if (x > 2.414213562F) {
    base = half_pi;
    x = -1.0F / x;
  } else if (x > 0.4142135624F) {
    base = half_pi / 2;
    x = (x - 1.0F) / (x + 1.0F);
  }
  const float z = x * x;
  float p = 8.05374449538e-2F;
  p = multiply_add(p, z, -1.38776856032e-1F);
  p = multiply_add(p, z, 1.99777106478e-1F);
  p = multiply_add(p, z, -3.33329491539e-1F);
  return with_sign(base + multiply_add(p * z, x, x), given);
}

DEVICE float arc_sine(float x) { return arc_tangent(x / square_root((1.0F - x) * (1.0F + x))); }

DEVICE float hyperbolic_sine(float x) {
  const float z = x * x;
  if (z < 1.0F) {
    float p = 2.75573192e-6F;
    p = multiply_add(p, z, 1.98412698e-4F);
    p = multiply_add(p, z, 8.33333333e-3F);
    p = multiply_add(p, z, 1.66666667e-1F);
    return multiply_add(p * z, x, x);
  }
  const float half = exponential(absolute(x) - 0.693147181F);
  return with_sign(half - 0.25F / half, x);
}
DEVICE float hyperbolic_cosine(float x) {
  const float half = exponential(absolute(x) - 0.693147181F);
  return half + 0.25F / half;
}
DEVICE float inverse_hyperbolic_sine(float x) {
  const float a = absolute(x);
  const float value = a > 1e9F ? logarithm(a) + 0.693147181F
                               : logarithm_above_one(a + a * a / (1.0F + square_root(multiply_add(a, a, 1.0F))));
  return with_sign(value, x);
}
DEVICE float inverse_hyperbolic_cosine(float x) {
  const float t = x - 1.0F;
  return x > 1e9F ? logarithm(x) + 0.693147181F : logarithm_above_one(t + square_root(multiply_add(t, t, 2.0F * t)));
}

DEVICE float shrunk(float x, float from, float by) {
  if (x < -from) return x + by;
  return x > from ? x - by : 0.0F;
}
DEVICE float logit(float x, float least) {
  x = at_most(at_least(x, 0.0F), 1.0F);
  return logarithm(at_least(x, least) / at_least(1.0F - x, least));
}

/// Returns the result of a rare activation for x. This function is called, not inlined, so that rarely needed code does
/// not displace other code in the instruction cache.
DEVICE_CALL float rarely_activated(float x, int kind, float a, float b) {
  switch (kind) {
  case ActivationArguments::softplus: return at_least(x, 0.0F) + logarithm_above_one(exponential(-absolute(x)));
  case ActivationArguments::softsign: return x / (1.0F + absolute(x));
  case ActivationArguments::erf: return error_function(x);
  case ActivationArguments::thresholded_relu: return x > a ? x : 0.0F;
  case ActivationArguments::shrink: return shrunk(x, a, b);
  case ActivationArguments::absolute: return absolute(x);
  case ActivationArguments::logarithm: return logarithm(x);
  case ActivationArguments::reciprocal: return 1.0F / x;
  case ActivationArguments::sign: return x > 0.0F ? 1.0F : x < 0.0F ? -1.0F : x;
  case ActivationArguments::floor: return floor_of(x);
  case ActivationArguments::ceil: return -floor_of(-x);
  case ActivationArguments::round: return nearest_integer(x);
  case ActivationArguments::truncate: return with_sign(floor_of(absolute(x)), x);
  case ActivationArguments::sine: return sine_of(x, 0);
  case ActivationArguments::cosine: return sine_of(x, 1);
  case ActivationArguments::tangent: return sine_of(x, 0) / sine_of(x, 1);
  case ActivationArguments::arc_sine: return arc_sine(x);
  case ActivationArguments::arc_cosine: return half_pi - arc_sine(x);
  case ActivationArguments::arc_tangent: return arc_tangent(x);
  case ActivationArguments::sinh: return hyperbolic_sine(x);
  case ActivationArguments::cosh: return hyperbolic_cosine(x);
  case ActivationArguments::arc_sinh: return inverse_hyperbolic_sine(x);
  case ActivationArguments::arc_cosh: return inverse_hyperbolic_cosine(x);
  case ActivationArguments::arc_tanh: return 0.5F * logarithm_above_one(2.0F * x / (1.0F - x));
  case ActivationArguments::scaled_tanh: return a * hyperbolic_tangent(b * x);
  case ActivationArguments::logit: return logit(x, a);
  default: return x;
  }
}

} // namespace rtexec::tasks::cuda
