#include "traces/wcet/gev.hpp"

#include "traces/wcet/likelihood.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace rtexec::traces {
namespace {

constexpr double gumbel = 1e-6; // a shape between -gumbel and gumbel counts as 0
constexpr double lowest_shape = -1, highest_shape = 2;

/// Maxima scaled to mean 0 and standard deviation 1, because searches have absolute tolerances. Functions with a
/// parameter of this type return likelihoods of the scaled maxima.
struct Standardised {
  explicit Standardised(std::span<const double> maxima) : centre(mean(maxima)), x(maxima.begin(), maxima.end()) {
    for (double& value : x) value -= centre;
    unit = std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0) / static_cast<double>(x.size()));
    for (double& value : x) value /= unit;
  }
  [[nodiscard]] double log_likelihood(const Gev& gev) const {
    return traces::log_likelihood({(gev.location - centre) / unit, gev.scale / unit, gev.shape}, x);
  }

  double centre, unit = 1;
  std::vector<double> x; // ascending
};

double to_gumbel(double x, double t) { return std::abs(t * x) < 1e-9 ? x : std::log1p(t * x) / t; }

/// Returns the largest log-likelihood over all locations, for a given shape and a given scale. `scale` is the scale of
/// the Gumbel distribution of z, with the mean of the maxima as the point c (gev.hpp).
double profile_of_scale(double shape, double scale, const Standardised& maxima) {
  const double t = shape / scale;
  if (1 + t * maxima.x.front() <= 0 || 1 + t * maxima.x.back() <= 0) return impossible;
  const auto n = static_cast<double>(maxima.x.size());
  double sum = 0, exponentials = 0;
  for (const double x : maxima.x) {
    const double z = to_gumbel(x, t);
    sum += z;
    exponentials += std::exp(-z / scale);
  }
  return -n * (std::log(scale) + std::log(exponentials / n) + 1) - sum * (1 / scale + t);
}

/// Returns the best scale of the Gumbel distribution of z (gev.hpp) for a shape, and its log-likelihood.
std::pair<double, double> best_scale(double shape, const Standardised& maxima) {
  // The support must contain all maxima
  const double least = shape < 0 ? -shape * maxima.x.back() : -shape * maxima.x.front();
  const double low = std::max(least * (1 + 1e-9), 0.02), high = std::max(10.0, 4 * least);
  const auto [log_scale, value] =
      maximum([&](double s) { return profile_of_scale(shape, std::exp(s), maxima); }, std::log(low), std::log(high));
  return {std::exp(log_scale), value};
}

/// Returns the largest log-likelihood for a given t = shape / scale (gev.hpp), under the condition that a maximum is
/// below `quantile` with the probability exp(-hazard). `quantile` is scaled like the maxima.
double profile_of_ratio(double t, double quantile, double hazard, const Standardised& maxima) {
  const double z_quantile = to_gumbel(quantile, t);
  const auto n = static_cast<double>(maxima.x.size());
  std::vector<double> below(maxima.x.size());
  std::transform(maxima.x.begin(), maxima.x.end(), below.begin(),
                 [&](double x) { return to_gumbel(x, t) - z_quantile; });
  const double sum = std::accumulate(below.begin(), below.end(), 0.0);
  const double jacobian = t * (sum + n * z_quantile);
  const auto likelihood = [&](double log_scale) {
    const double scale = std::exp(log_scale);
    if (t * scale <= lowest_shape) return impossible;
    double exponentials = 0;
    for (const double z : below) exponentials += std::exp(-z / scale);
    return std::max(-n * (log_scale - std::log(hazard)) - sum / scale - hazard * exponentials - jacobian, impossible);
  };
  return maximum(likelihood, std::log(0.02), std::log(10)).second;
}

double profile_of_quantile(double quantile, double hazard, const Standardised& maxima) {
  const double low = -1 / std::max(maxima.x.back(), quantile), high = -1 / maxima.x.front();
  constexpr double inside = 1 - 1e-9;
  return maximum([&](double t) { return profile_of_ratio(t, quantile, hazard, maxima); }, low * inside, high * inside)
      .second;
}

} // namespace

double Gev::survival(double x) const {
  const double z = (x - location) / scale;
  const double log_hazard = std::abs(shape) < gumbel ? -z : -std::log(std::max(1 + shape * z, 1e-300)) / shape;
  return -std::expm1(-std::exp(log_hazard));
}

double Gev::quantile(double probability) const {
  const double z = -std::log(-std::log1p(-probability));
  return location + scale * (std::abs(shape) < gumbel ? z : std::expm1(shape * z) / shape);
}

double log_likelihood(const Gev& gev, std::span<const double> maxima) {
  double sum = 0;
  for (const double x : maxima) {
    const double w = 1 + gev.shape * (x - gev.location) / gev.scale;
    if (w <= 0) return impossible;
    const double z = std::abs(gev.shape) < gumbel ? (x - gev.location) / gev.scale : std::log(w) / gev.shape;
    sum += (1 + gev.shape) * z + std::exp(-z);
  }
  return -sum - static_cast<double>(maxima.size()) * std::log(gev.scale);
}

std::optional<Gev> fit_gev(std::span<const double> maxima) {
  const Standardised standardised(maxima);
  const double shape =
      maximum([&](double at) { return best_scale(at, standardised).second; }, lowest_shape, highest_shape).first;
  if (shape < lowest_shape + 0.01 || shape > highest_shape - 0.01) return std::nullopt;
  const double at_centre = best_scale(shape, standardised).first, t = shape / at_centre;
  double exponentials = 0;
  for (const double x : standardised.x) exponentials += std::exp(-to_gumbel(x, t) / at_centre);
  const double gumbel_location = -at_centre * std::log(exponentials / static_cast<double>(maxima.size()));
  const double location = std::abs(t * gumbel_location) < 1e-9 ? gumbel_location : std::expm1(t * gumbel_location) / t;
  return Gev{standardised.centre + standardised.unit * location,
             standardised.unit * at_centre * std::exp(t * gumbel_location), shape};
}

std::optional<Interval> shape_interval(const Gev& fitted, std::span<const double> maxima) {
  const Standardised standardised(maxima);
  const double largest = standardised.log_likelihood(fitted), step = 1 / std::sqrt(static_cast<double>(maxima.size()));
  const auto profile = [&](double shape) { return best_scale(shape, standardised).second; };
  return interval(profile, largest, fitted.shape, {-step, lowest_shape}, {step, highest_shape});
}

std::optional<Interval> quantile_interval(const Gev& fitted, std::span<const double> maxima, double probability) {
  const Standardised standardised(maxima);
  const double largest = standardised.log_likelihood(fitted);
  const double hazard = -std::log1p(-probability), estimate = fitted.quantile(probability);
  const auto profile = [&](double quantile) {
    return profile_of_quantile((quantile - standardised.centre) / standardised.unit, hazard, standardised);
  };
  const double step =
      std::max(estimate - fitted.location, fitted.scale) / std::sqrt(static_cast<double>(maxima.size()));
  return interval(profile, largest, estimate, {-step, estimate - 1e6 * step}, {2 * step, estimate + 1e6 * step});
}

} // namespace rtexec::traces
