// Tests whether a fitted distribution describes the samples to which it was fitted. Pure; any thread may call.
//
// The parameters come from the same samples, so the classical p-values do not apply. The p-values come from tables
// instead, by shape. A table lists the statistics of samples that were drawn from the distribution and then fitted with
// it; `pwcet-bench --tables` prints the tables.
#pragma once

#include <span>

namespace rtexec::traces {

/// Returns the statistic of `probabilities`: the values of the fitted distribution function at the samples, ascending.
[[nodiscard]] double anderson_darling_statistic(std::span<const double> probabilities);
/// Returns sqrt(n) times the largest distance between the fitted and the empirical distribution function.
[[nodiscard]] double kolmogorov_smirnov_statistic(std::span<const double> probabilities);

enum class Law { gpd, gev };

/// Return the p-value of a statistic. The tables cover p-values from 0.5 to 0.001: a larger one is returned as 0.5, a
/// smaller one is extrapolated. A shape outside the tables counts as the nearest shape in them.
[[nodiscard]] double anderson_darling_p_value(Law law, double shape, double statistic);
[[nodiscard]] double kolmogorov_smirnov_p_value(Law law, double shape, double statistic);

} // namespace rtexec::traces
