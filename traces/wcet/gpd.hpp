// The generalised Pareto distribution of excesses y over a threshold: P(Y > y) = (1 + shape y / scale)^(-1/shape). For
// shape 0: P(Y > y) = exp(-y / scale). Pure; any thread may call.
#pragma once

#include "traces/wcet/pwcet.hpp"

#include <optional>
#include <span>

namespace rtexec::traces {

struct Gpd {
  double scale = 0, shape = 0;

  [[nodiscard]] double survival(double y) const;
  /// Returns the value that an excess exceeds with `probability`, 0 < probability <= 1.
  [[nodiscard]] double quantile(double probability) const;
};

/// Returns the log-likelihood of `excesses`, which must all be positive.
[[nodiscard]] double log_likelihood(const Gpd& gpd, std::span<const double> excesses);

/// Fits the distribution by maximum likelihood (Grimshaw 1993: a one-dimensional search in shape / scale). Returns
/// nullopt if the likelihood has no maximum with a shape above -1. `excesses` must be in ascending order, not negative
/// and not all 0.
[[nodiscard]] std::optional<Gpd> fit_gpd(std::span<const double> excesses);

/// Returns the 95 % confidence interval of the shape, by profile likelihood. Returns nullopt if an end of the interval
/// is not between -1 and 2.
[[nodiscard]] std::optional<Interval> shape_interval(const Gpd& fitted, std::span<const double> excesses);

/// Returns the 95 % confidence interval, by profile likelihood, of the value that an excess exceeds with `probability`.
/// Returns nullopt if an end of the interval is not found.
[[nodiscard]] std::optional<Interval> quantile_interval(const Gpd& fitted, std::span<const double> excesses,
                                                        double probability);

} // namespace rtexec::traces
