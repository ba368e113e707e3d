// Numerics for both tail models: a maximum in one dimension, confidence intervals by profile likelihood, sums of
// logarithms. Pure; any thread may call.
#pragma once

#include "traces/wcet/pwcet.hpp"

#include <boost/math/tools/minima.hpp>
#include <boost/math/tools/roots.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

namespace rtexec::traces {

/// The log-likelihood of parameters that do not allow one of the samples. It is finite, so that differences remain
/// numbers.
constexpr double impossible = -1e12;

/// The maximum drop of the log-likelihood within the confidence interval (Wilks 1938): half the 95 % point of
/// chi-square with one degree of freedom.
constexpr double likelihood_drop = 1.9207294103470;

[[nodiscard]] double mean(std::span<const double> x);

/// Returns the sum of log(1 + c y); -infinity if an argument of the logarithm is not positive.
[[nodiscard]] double sum_log1p(double c, std::span<const double> y);

/// Returns the argument in [low, high] at which `function` is largest, and the largest value. `function` must be
/// unimodal in [low, high]. A function value that is not a number counts as impossible.
template <typename Function>
[[nodiscard]] std::pair<double, double> maximum(const Function& function, double low, double high) {
  constexpr int bits = 20;
  const auto negative = [&](double x) {
    const double value = function(x);
    return value > impossible ? -value : -impossible;
  };
  const auto [at, value] = boost::math::tools::brent_find_minima(negative, low, high, bits);
  return {at, -value};
}

/// Returns an end of a confidence interval: the point beyond `best` at which `profile` has dropped by `likelihood_drop`
/// from `largest`. The search starts with `step` (negative: downwards). Returns nullopt if there is no such point
/// before `limit`.
template <typename Profile>
[[nodiscard]] std::optional<double> profile_end(const Profile& profile, double largest, double best, double step,
                                                double limit) {
  const auto excess = [&](double x) { return profile(x) - largest + likelihood_drop; };
  const auto clipped = [&](double x) { return step < 0 ? std::max(x, limit) : std::min(x, limit); };
  double inside = best, outside = clipped(best + step);
  double at_inside = likelihood_drop, at_outside = excess(outside);
  while (at_outside > 0) {
    if (outside == limit) return std::nullopt;
    inside = std::exchange(outside, clipped(outside + (step *= 2)));
    at_inside = std::exchange(at_outside, excess(outside));
  }
  if (at_outside == 0) return outside;
  std::uintmax_t evaluations = 60;
  const auto close = [&](double a, double b) {
    return std::abs(a - b) <= 1e-6 * std::abs(inside - best) + 1e-6 * std::abs(step);
  };
  const bool rising = inside > outside;
  const auto [a, b] =
      rising ? boost::math::tools::toms748_solve(excess, outside, inside, at_outside, at_inside, close, evaluations)
             : boost::math::tools::toms748_solve(excess, inside, outside, at_inside, at_outside, close, evaluations);
  return (a + b) / 2;
}

/// The first step of a search, and the point at which it gives up.
struct Search {
  double step, limit;
};

/// Returns the interval between the ends that the searches `down` and `up` find; nullopt if an end is not found.
template <typename Profile>
[[nodiscard]] std::optional<Interval> interval(const Profile& profile, double largest, double best, Search down,
                                               Search up) {
  const auto low = profile_end(profile, largest, best, down.step, down.limit);
  const auto high = profile_end(profile, largest, best, up.step, up.limit);
  if (!low || !high) return std::nullopt;
  return Interval{*low, *high};
}

} // namespace rtexec::traces
