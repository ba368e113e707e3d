#include "tasks/engine/host/kernels/elementwise.hpp"

#include "tasks/engine/host/kernels/element_functions.hpp"
#include "tasks/engine/host/kernels/rare_functions.hpp"
#include "tasks/engine/host/kernels/vector.hpp"

#include <algorithm>
#include <cmath>

namespace rtexec::tasks::kernels {
namespace {

template <class F> RTEXEC_INLINE void each(std::size_t n, F f) {
  RTEXEC_INDEPENDENT
  for (std::size_t i = 0; i < n; ++i) f(i);
}

template <class F>
RTEXEC_INLINE void combine_steps(float* y, const float* a, std::size_t step_a, const float* b, std::size_t step_b,
                                 std::size_t n, F f) {
  if (step_a == 0) {
    const float value = *a;
    each(
        n, [=](std::size_t i) __attribute__((always_inline)) { y[i] = f(value, b[i * step_b]); });
  } else if (step_b == 0) {
    const float value = *b;
    each(
        n, [=](std::size_t i) __attribute__((always_inline)) { y[i] = f(a[i], value); });
  } else {
    each(
        n, [=](std::size_t i) __attribute__((always_inline)) { y[i] = f(a[i], b[i]); });
  }
}

RTEXEC_VECTORISED void activate_commonly(Activation f, float* y, const float* x, std::size_t n) noexcept {
  with_kind(
      f.kind, [=]<Activation::Kind kind>() __attribute__((always_inline)) {
        each(
            n, [=](std::size_t i) __attribute__((always_inline)) { y[i] = activate<kind>(x[i], f.a, f.b); });
      });
}

template <class T> RTEXEC_INLINE void quantise_as(const Quantise& to, T* y, const float* x, std::size_t n) {
  // 1.5 * 2^23: the sum of a number and it has no fraction, so the addition rounds.
  constexpr float rounder = 12582912.0F;
  const float low = to.low - to.zero, high = to.high - to.zero, scale = to.scale, zero = to.zero;
  each(
      n, [=](std::size_t i) __attribute__((always_inline)) {
        const float within = at_most(at_least(x[i] / scale, low), high);
        const float rounded = (within + rounder - rounder) + zero;
        y[i] = static_cast<T>(static_cast<std::int32_t>(rounded == rounded ? rounded : 0.0F));
      });
}

template <class T> RTEXEC_INLINE void dequantise_as(const Dequantise& from, float* y, const T* x, std::size_t n) {
  const float scale = from.scale, zero = from.zero;
  each(
      n, [=](std::size_t i) __attribute__((always_inline)) { y[i] = (static_cast<float>(x[i]) - zero) * scale; });
}

float modulo(float a, float b) noexcept {
  const float rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

} // namespace

void activate(Activation f, float* y, const float* x, std::size_t n) noexcept {
  if (is_common(f.kind)) activate_commonly(f, y, x, n);
  else activate_rarely(f, y, x, n);
}

RTEXEC_VECTORISED void finish(Activation f, float* y, const float* x, float bias, const float* residual,
                              std::size_t n) noexcept {
  with_kind(
      f.kind, [=]<Activation::Kind kind>() __attribute__((always_inline)) {
        if (residual)
          each(
              n, [=](std::size_t i)
                     __attribute__((always_inline)) { y[i] = activate<kind>(x[i] + bias + residual[i], f.a, f.b); });
        else
          each(
              n, [=](std::size_t i) __attribute__((always_inline)) { y[i] = activate<kind>(x[i] + bias, f.a, f.b); });
      });
}

RTEXEC_VECTORISED void scale_shift(Activation f, float* y, const float* x, float scale, float shift,
                                   std::size_t n) noexcept {
  with_kind(
      f.kind, [=]<Activation::Kind kind>() __attribute__((always_inline)) {
        each(
            n, [=](std::size_t i)
                   __attribute__((always_inline)) { y[i] = activate<kind>(x[i] * scale + shift, f.a, f.b); });
      });
}

RTEXEC_VECTORISED void quantise(const Quantise& to, std::uint8_t* y, const float* x, std::size_t n) noexcept {
  quantise_as(to, y, x, n);
}
RTEXEC_VECTORISED void quantise(const Quantise& to, std::int8_t* y, const float* x, std::size_t n) noexcept {
  quantise_as(to, y, x, n);
}
RTEXEC_VECTORISED void quantise(const Quantise& to, std::uint16_t* y, const float* x, std::size_t n) noexcept {
  quantise_as(to, y, x, n);
}
RTEXEC_VECTORISED void quantise(const Quantise& to, std::int16_t* y, const float* x, std::size_t n) noexcept {
  quantise_as(to, y, x, n);
}
RTEXEC_VECTORISED void quantise(const Quantise& to, std::int32_t* y, const float* x, std::size_t n) noexcept {
  quantise_as(to, y, x, n);
}

RTEXEC_VECTORISED void dequantise(const Dequantise& from, float* y, const std::uint8_t* x, std::size_t n) noexcept {
  dequantise_as(from, y, x, n);
}
RTEXEC_VECTORISED void dequantise(const Dequantise& from, float* y, const std::int8_t* x, std::size_t n) noexcept {
  dequantise_as(from, y, x, n);
}
RTEXEC_VECTORISED void dequantise(const Dequantise& from, float* y, const std::uint16_t* x, std::size_t n) noexcept {
  dequantise_as(from, y, x, n);
}
RTEXEC_VECTORISED void dequantise(const Dequantise& from, float* y, const std::int16_t* x, std::size_t n) noexcept {
  dequantise_as(from, y, x, n);
}
RTEXEC_VECTORISED void dequantise(const Dequantise& from, float* y, const std::int32_t* x, std::size_t n) noexcept {
  dequantise_as(from, y, x, n);
}

RTEXEC_VECTORISED void combine(Binary::Kind kind, float* y, const float* a, std::size_t step_a, const float* b,
                               std::size_t step_b, std::size_t n) noexcept {
  const auto with = [=](auto f) __attribute__((always_inline)) { combine_steps(y, a, step_a, b, step_b, n, f); };
  switch (kind) {
    using enum Binary::Kind;
  case add: return with([](float p, float q) __attribute__((always_inline)) { return p + q; });
  case subtract: return with([](float p, float q) __attribute__((always_inline)) { return p - q; });
  case multiply: return with([](float p, float q) __attribute__((always_inline)) { return p * q; });
  case divide: return with([](float p, float q) __attribute__((always_inline)) { return p / q; });
  case minimum: return with([](float p, float q) __attribute__((always_inline)) { return p != p || p < q ? p : q; });
  case maximum: return with([](float p, float q) __attribute__((always_inline)) { return p != p || p > q ? p : q; });
  case power: return with([](float p, float q) __attribute__((always_inline)) { return std::pow(p, q); });
  case modulo: return with([](float p, float q) __attribute__((always_inline)) { return kernels::modulo(p, q); });
  case remainder: return with([](float p, float q) __attribute__((always_inline)) { return std::fmod(p, q); });
  case slope: return with([](float p, float q) __attribute__((always_inline)) { return p < 0.0F ? p * q : p; });
  default: return; // comparisons and integer operations are computed by steps of their own
  }
}

RTEXEC_VECTORISED void select(float* y, const std::uint8_t* condition, std::size_t step_condition, const float* a,
                              std::size_t step_a, const float* b, std::size_t step_b, std::size_t n) noexcept {
  each(
      n, [=](std::size_t i) __attribute__((always_inline)) {
        const float first = a[i * step_a], second = b[i * step_b];
        y[i] = condition[i * step_condition] != 0 ? first : second;
      });
}

RTEXEC_VECTORISED void maximum(float* y, const float* x, std::size_t n) noexcept {
  each(
      n, [=](std::size_t i) __attribute__((always_inline)) { y[i] = at_least(y[i], x[i]); });
}

RTEXEC_VECTORISED void minimum(float* y, const float* x, std::size_t n) noexcept {
  each(
      n, [=](std::size_t i) __attribute__((always_inline)) { y[i] = at_most(y[i], x[i]); });
}

RTEXEC_VECTORISED void accumulate(float* y, const float* x, float factor, std::size_t n) noexcept {
  each(
      n, [=](std::size_t i) __attribute__((always_inline)) { y[i] += x[i] * factor; });
}

RTEXEC_VECTORISED void accumulate(std::uint32_t* y, const float* x, std::size_t n) noexcept {
  each(
      n, [=](std::size_t i)
             __attribute__((always_inline)) { y[i] += static_cast<std::uint32_t>(static_cast<std::int32_t>(x[i])); });
}

RTEXEC_VECTORISED void accumulate_squares(float* y, const float* x, std::size_t n) noexcept {
  each(
      n, [=](std::size_t i) __attribute__((always_inline)) { y[i] += x[i] * x[i]; });
}

RTEXEC_VECTORISED void divide_by_power(float* y, const float* x, const float* sums, float bias, float factor,
                                       float beta, std::size_t n) noexcept {
  if (beta == 0.75F) { // the usual value: two square roots replace the power
    each(
        n, [=](std::size_t i) __attribute__((always_inline)) {
          const float root = std::sqrt(bias + factor * sums[i]);
          y[i] = x[i] / (root * std::sqrt(root));
        });
  } else {
    for (std::size_t i = 0; i < n; ++i) y[i] = x[i] * std::pow(bias + factor * sums[i], -beta);
  }
}

/// Returns an element of x: the result of applying `choose` (maximum or minimum) to pairs of elements until one is
/// left.
template <class Choose> RTEXEC_INLINE float chosen(const float* x, std::size_t n, Choose choose) {
  constexpr std::size_t parts = 2 * lanes;
  float best[parts];
  std::size_t i = 0;
  if (n >= parts) {
    for (; i < parts; ++i) best[i] = x[i];
    for (; i + parts <= n; i += parts)
      for (std::size_t part = 0; part < parts; ++part) best[part] = choose(best[part], x[i + part]);
    for (std::size_t half = parts / 2; half > 0; half /= 2)
      for (std::size_t part = 0; part < half; ++part) best[part] = choose(best[part], best[part + half]);
  } else {
    best[0] = x[i++];
  }
  float result = best[0];
  for (; i < n; ++i) result = choose(result, x[i]);
  return result;
}

RTEXEC_VECTORISED float maximum(const float* x, std::size_t n) noexcept {
  return chosen(
      x, n, [](float p, float q) __attribute__((always_inline)) { return at_least(p, q); });
}

RTEXEC_VECTORISED float minimum(const float* x, std::size_t n) noexcept {
  return chosen(
      x, n, [](float p, float q) __attribute__((always_inline)) { return at_most(p, q); });
}

namespace {

RTEXEC_INLINE double sum_inline(const float* x, std::size_t n) {
  constexpr std::size_t sums = 8;
  double partial[sums] = {};
  std::size_t i = 0;
  for (; i + sums <= n; i += sums)
    for (std::size_t lane = 0; lane < sums; ++lane) partial[lane] += static_cast<double>(x[i + lane]);
  double total = 0;
  for (; i < n; ++i) total += static_cast<double>(x[i]);
  for (const auto value : partial) total += value;
  return total;
}

} // namespace

RTEXEC_VECTORISED double sum(const float* x, std::size_t n) noexcept { return sum_inline(x, n); }

RTEXEC_VECTORISED double exponentials(float* y, const float* x, float most, std::size_t n) noexcept {
  each(
      n, [=](std::size_t i) __attribute__((always_inline)) { y[i] = exponential(x[i] - most); });
  return sum_inline(y, n);
}

RTEXEC_VECTORISED void maxima(float* most, const float* x, std::size_t width, std::size_t n) noexcept {
  std::copy_n(x, width, most);
  for (std::size_t row = 1; row < n; ++row)
    each(
        width, [=](std::size_t i) __attribute__((always_inline)) { most[i] = at_least(most[i], x[row * width + i]); });
}

RTEXEC_VECTORISED void exponentials(float* x, const float* most, float* sums, std::size_t width,
                                    std::size_t n) noexcept {
  std::fill_n(sums, width, 0.0F);
  for (std::size_t row = 0; row < n; ++row, x += width)
    each(
        width, [=](std::size_t i) __attribute__((always_inline)) {
          x[i] = exponential(x[i] - most[i]);
          sums[i] += x[i];
        });
}

RTEXEC_VECTORISED double sum_of_squares(const float* x, float mean, std::size_t n) noexcept {
  constexpr std::size_t sums = 8;
  double partial[sums] = {};
  std::size_t i = 0;
  for (; i + sums <= n; i += sums)
    for (std::size_t lane = 0; lane < sums; ++lane) {
      const double distance = static_cast<double>(x[i + lane]) - static_cast<double>(mean);
      partial[lane] += distance * distance;
    }
  double total = 0;
  for (; i < n; ++i) {
    const double distance = static_cast<double>(x[i]) - static_cast<double>(mean);
    total += distance * distance;
  }
  for (const auto value : partial) total += value;
  return total;
}

RTEXEC_VECTORISED void blend(float* y, const float* x, const std::int32_t* low, const std::int32_t* high,
                             const float* weight, std::size_t n) noexcept {
  each(
      n, [=](std::size_t i) __attribute__((always_inline)) {
        const float from = x[low[i]], to = x[high[i]], between = from + (to - from) * weight[i];
        y[i] = weight[i] == 0.0F ? from : between;
      });
}

RTEXEC_VECTORISED void gather_strided(float* y, const float* x, std::ptrdiff_t step, std::size_t n) noexcept {
  if (step == 2)
    each(
        n, [=](std::size_t i) __attribute__((always_inline)) { y[i] = x[2 * i]; });
  else
    each(
        n, [=](std::size_t i) __attribute__((always_inline)) { y[i] = x[static_cast<std::ptrdiff_t>(i) * step]; });
}

} // namespace rtexec::tasks::kernels
