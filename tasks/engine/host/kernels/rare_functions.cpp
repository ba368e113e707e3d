#include "tasks/engine/host/kernels/rare_functions.hpp"

#include "tasks/engine/host/kernels/element_functions.hpp"

#include <algorithm>
#include <cmath>

namespace rtexec::tasks::kernels {
namespace {

float soft_plus(float x) { return std::max(x, 0.0F) + std::log1p(std::exp(-std::abs(x))); }

float shrunk(float x, float from, float by) { return x < -from ? x + by : x > from ? x - by : 0.0F; }

float sign_of(float x) { return x > 0 ? 1.0F : x < 0 ? -1.0F : x; }

float logit_of(float x, float least) {
  x = at_most(at_least(x, 0.0F), 1.0F);
  return std::log(at_least(x, least) / at_least(1.0F - x, least));
}

float truth(bool value) { return value ? 1.0F : 0.0F; }

float of(Activation::Kind kind, float x, float a, float b) {
  using enum Activation::Kind;
  switch (kind) {
  case softplus: return soft_plus(x);
  case softsign: return x / (1.0F + std::abs(x));
  case thresholded_relu: return x > a ? x : 0.0F;
  case shrink: return shrunk(x, a, b);
  case absolute: return std::abs(x);
  case logarithm: return std::log(x);
  case reciprocal: return 1.0F / x;
  case sign: return sign_of(x);
  case floor: return std::floor(x);
  case ceil: return std::ceil(x);
  case truncate: return std::trunc(x);
  case sine: return std::sin(x);
  case cosine: return std::cos(x);
  case tangent: return std::tan(x);
  case arc_sine: return std::asin(x);
  case arc_cosine: return std::acos(x);
  case arc_tangent: return std::atan(x);
  case sinh: return std::sinh(x);
  case cosh: return std::cosh(x);
  case arc_sinh: return std::asinh(x);
  case arc_cosh: return std::acosh(x);
  case arc_tanh: return std::atanh(x);
  case is_nan: return truth(std::isnan(x));
  case is_infinite: return truth(std::isinf(x) && (x < 0 ? a : b) != 0);
  case is_zero: return truth(x == 0);
  case is_not_zero: return truth(x != 0);
  case scaled_tanh: return a * std::tanh(b * x);
  case logit: return logit_of(x, a);
  default: return x;
  }
}

RTEXEC_VECTORISED void error_functions(float* y, const float* x, std::size_t n) noexcept {
  RTEXEC_INDEPENDENT
  for (std::size_t i = 0; i < n; ++i) y[i] = error_function(x[i]);
}

RTEXEC_VECTORISED void round(float* y, const float* x, std::size_t n) noexcept {
  RTEXEC_INDEPENDENT
  for (std::size_t i = 0; i < n; ++i) y[i] = rounded(x[i]);
}

} // namespace

void activate_rarely(Activation f, float* y, const float* x, std::size_t n) noexcept {
  if (f.kind == Activation::Kind::erf) return error_functions(y, x, n);
  if (f.kind == Activation::Kind::round) return round(y, x, n);
  std::transform(x, x + n, y, [f](float value) { return of(f.kind, value, f.a, f.b); });
}

} // namespace rtexec::tasks::kernels
