// The generalised extreme value distribution of block maxima x: P(X <= x) = exp(-(1 + shape (x - location) /
// scale)^(-1/shape)). For shape 0: P(X <= x) = exp(-exp(-(x - location) / scale)). Pure; any thread may call.
//
// Let t = shape / scale and let c be any point. If x follows this distribution, z = log(1 + t (x - c)) / t follows a
// Gumbel distribution. So for each t only a Gumbel distribution must be fitted to z. The best location of that Gumbel
// distribution follows from its scale in closed form. The fit is a one-dimensional search for the scale within a
// one-dimensional search for the shape.
#pragma once

#include "traces/wcet/pwcet.hpp"

#include <optional>
#include <span>

namespace rtexec::traces {

struct Gev {
  double location = 0, scale = 0, shape = 0;

  [[nodiscard]] double survival(double x) const;
  /// Returns the value that a maximum exceeds with `probability`, 0 < probability < 1.
  [[nodiscard]] double quantile(double probability) const;
};

[[nodiscard]] double log_likelihood(const Gev& gev, std::span<const double> maxima);

/// Fits the distribution by maximum likelihood. Returns nullopt if the likelihood has no maximum with a shape between
/// -1 and 2. `maxima` must be in ascending order and not all equal.
[[nodiscard]] std::optional<Gev> fit_gev(std::span<const double> maxima);

/// Returns the 95 % confidence interval of the shape, by profile likelihood. Returns nullopt if an end of the interval
/// is not between -1 and 2.
[[nodiscard]] std::optional<Interval> shape_interval(const Gev& fitted, std::span<const double> maxima);

/// Returns the 95 % confidence interval, by profile likelihood, of the value that a maximum exceeds with `probability`.
/// Returns nullopt if an end of the interval is not found.
[[nodiscard]] std::optional<Interval> quantile_interval(const Gev& fitted, std::span<const double> maxima,
                                                        double probability);

} // namespace rtexec::traces
