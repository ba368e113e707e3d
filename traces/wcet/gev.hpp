// The generalised extreme value distribution of block maxima x: P(X <= x) = exp(-(1 + shape (x - location) /
// scale)^(-1/shape)), and exp(-exp(-(x - location) / scale)) for shape 0. Pure; any thread may call.
//
// z = log(1 + t (x - c)) / t, with t = shape / scale and any point c, follows a Gumbel distribution if x follows this
// one. So for each t it remains to fit a Gumbel distribution, whose best location follows from its scale in closed
// form. The fit is a search in one dimension within another one.
#pragma once

#include "traces/wcet/pwcet.hpp"

#include <optional>
#include <span>

namespace rtexec::traces {

struct Gev {
  double location = 0, scale = 0, shape = 0;

  [[nodiscard]] double survival(double x) const;
  /// Returns the value that is exceeded with `probability`, 0 < probability < 1.
  [[nodiscard]] double quantile(double probability) const;
};

[[nodiscard]] double log_likelihood(const Gev& gev, std::span<const double> maxima);

/// Fits by maximum likelihood. Returns nullopt if there is no maximum with a shape between -1 and 2. `maxima` must be
/// ascending and not all the same.
[[nodiscard]] std::optional<Gev> fit_gev(std::span<const double> maxima);

/// Returns the 95 % interval by profile likelihood; nullopt if the interval does not end between -1 and 2.
[[nodiscard]] std::optional<Interval> shape_interval(const Gev& fitted, std::span<const double> maxima);

/// Returns the 95 % interval, by profile likelihood, of the value that a maximum exceeds with `probability`. Returns
/// nullopt if the interval does not end.
[[nodiscard]] std::optional<Interval> quantile_interval(const Gev& fitted, std::span<const double> maxima,
                                                        double probability);

} // namespace rtexec::traces
