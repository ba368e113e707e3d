// The generalised Pareto distribution of excesses y over a threshold: P(Y > y) = (1 + shape y / scale)^(-1/shape),
// exp(-y / scale) for shape 0. Pure; any thread may call.
#pragma once

#include "traces/wcet/pwcet.hpp"

#include <optional>
#include <span>

namespace rtexec::traces {

struct Gpd {
  double scale = 0, shape = 0;

  [[nodiscard]] double survival(double y) const;
  /// Returns the excess that is exceeded with `probability`, 0 < probability <= 1.
  [[nodiscard]] double quantile(double probability) const;
};

/// Returns the log-likelihood of `excesses`, all positive.
[[nodiscard]] double log_likelihood(const Gpd& gpd, std::span<const double> excesses);

/// Fits by maximum likelihood (Grimshaw 1993: a search in shape / scale only). Returns nullopt if the likelihood has no
/// maximum with a shape above -1. `excesses` must be ascending, not negative and not all 0.
[[nodiscard]] std::optional<Gpd> fit_gpd(std::span<const double> excesses);

/// Returns the 95 % interval by profile likelihood; nullopt if the interval does not end between -1 and 2.
[[nodiscard]] std::optional<Interval> shape_interval(const Gpd& fitted, std::span<const double> excesses);

/// Returns the 95 % interval, by profile likelihood, of the excess that is exceeded with `probability`. Returns nullopt
/// if the interval does not end.
[[nodiscard]] std::optional<Interval> quantile_interval(const Gpd& fitted, std::span<const double> excesses,
                                                        double probability);

} // namespace rtexec::traces
