#include "traces/wcet/gpd.hpp"

#include "traces/wcet/likelihood.hpp"

#include <algorithm>

namespace rtexec::traces {
namespace {

constexpr double exponential = 1e-6; // a shape between -exponential and exponential counts as 0
constexpr double lowest_shape = -1;  // the likelihood of lower shapes is unbounded
constexpr double highest_shape = 2;

/// Returns the largest log-likelihood over all scales for a given shape. The search is centred on `scale`.
double profile_of_shape(double shape, double scale, std::span<const double> y) {
  const double least = shape < 0 ? -shape * y.back() : 0; // the support must contain the largest excess
  const double low = std::max(least * (1 + 1e-9), scale / 20), high = std::max(20 * scale, 4 * least);
  return maximum(
             [&](double log_scale) {
               return log_likelihood({std::exp(log_scale), shape}, y);
             },
             std::log(low), std::log(high))
      .second;
}

/// Returns the quantile divided by the scale, (r^shape - 1) / shape, with r = 1 / probability. `log_r` is log(r).
double growth(double log_r, double shape) {
  return std::abs(shape) < exponential ? log_r : std::expm1(log_r * shape) / shape;
}

/// Returns the largest log-likelihood under the condition that an excess exceeds `quantile` with the probability 1 / r.
/// `log_r` is log(r).
double profile_of_quantile(double quantile, double log_r, std::span<const double> y) {
  const double share = quantile / y.back();
  // For shapes below this value the support would end before the largest excess
  const double bounded = share < 1 ? std::log1p(-share) / log_r * (1 - 1e-9) : lowest_shape;
  const auto likelihood = [&](double shape) { return log_likelihood({quantile / growth(log_r, shape), shape}, y); };
  return maximum(likelihood, std::max(lowest_shape, bounded), highest_shape).second;
}

} // namespace

double Gpd::survival(double y) const {
  if (std::abs(shape) < exponential) return std::exp(-y / scale);
  return std::exp(-std::log(std::max(1 + shape * y / scale, 1e-300)) / shape);
}

double Gpd::quantile(double probability) const { return scale * growth(-std::log(probability), shape); }

double log_likelihood(const Gpd& gpd, std::span<const double> y) {
  const auto n = static_cast<double>(y.size());
  if (std::abs(gpd.shape) < exponential) return -n * (std::log(gpd.scale) + mean(y) / gpd.scale);
  const double sum = sum_log1p(gpd.shape / gpd.scale, y);
  return std::isfinite(sum) ? -n * std::log(gpd.scale) - (1 + 1 / gpd.shape) * sum : impossible;
}

std::optional<Gpd> fit_gpd(std::span<const double> y) {
  // Searches in s = log(1 + x shape / scale), where x is the largest sample (`largest`). s has the magnitude of shape
  // times log(n). For each s the best shape is known in closed form.
  const double log_n = std::log(static_cast<double>(y.size())), largest = y.back();
  const auto best_for = [&](double s) {
    const double ratio = std::expm1(s) / largest;
    const double shape = sum_log1p(ratio, y) / static_cast<double>(y.size());
    return std::abs(shape) < exponential ? Gpd{mean(y), 0} : Gpd{shape / ratio, shape};
  };
  const auto likelihood = [&](double s) {
    const Gpd gpd = best_for(s);
    return gpd.shape > lowest_shape ? log_likelihood(gpd, y) : impossible;
  };
  constexpr int steps = 24;
  const auto s_of = [&](int i) { return log_n * (-1.5 + 3.5 * i / steps); };
  int best = 1;
  double best_value = impossible;
  for (int i = 1; i < steps; ++i)
    if (const double value = likelihood(s_of(i));
        value > best_value && value >= likelihood(s_of(i - 1)) && value >= likelihood(s_of(i + 1)))
      best = i, best_value = value;
  if (best_value == impossible) return std::nullopt;
  return best_for(maximum(likelihood, s_of(best - 1), s_of(best + 1)).first);
}

std::optional<Interval> shape_interval(const Gpd& fitted, std::span<const double> y) {
  const double largest = log_likelihood(fitted, y), step = 1 / std::sqrt(static_cast<double>(y.size()));
  const auto profile = [&](double shape) { return profile_of_shape(shape, fitted.scale, y); };
  return interval(profile, largest, fitted.shape, {-step, lowest_shape}, {step, highest_shape});
}

std::optional<Interval> quantile_interval(const Gpd& fitted, std::span<const double> y, double probability) {
  const double largest = log_likelihood(fitted, y), log_r = -std::log(probability),
               estimate = fitted.quantile(probability);
  const double step = 2 * estimate / std::sqrt(static_cast<double>(y.size()));
  const auto profile = [&](double quantile) { return profile_of_quantile(quantile, log_r, y); };
  return interval(profile, largest, estimate, {-step / 2, 1e-6 * estimate}, {step, 1e6 * estimate});
}

} // namespace rtexec::traces
