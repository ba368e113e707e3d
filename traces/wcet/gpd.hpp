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
  /// The excess that is exceeded with `probability`, 0 < probability <= 1.
  [[nodiscard]] double quantile(double probability) const;
};

/// Of excesses, all positive.
[[nodiscard]] double log_likelihood(const Gpd& gpd, std::span<const double> excesses);

/// Maximum likelihood (Grimshaw 1993: a search in shape / scale only). Nothing where the likelihood has no maximum with
/// a shape above -1. `excesses` ascending, not negative, not all 0.
[[nodiscard]] std::optional<Gpd> fit_gpd(std::span<const double> excesses);

/// 95 % by profile likelihood; nothing where it does not end between -1 and 2.
[[nodiscard]] std::optional<Interval> shape_interval(const Gpd& fitted, std::span<const double> excesses);

/// 95 % by profile likelihood for the excess that is exceeded with `probability`; nothing where it does not end.
[[nodiscard]] std::optional<Interval> quantile_interval(const Gpd& fitted, std::span<const double> excesses,
                                                        double probability);

} // namespace rtexec::traces
