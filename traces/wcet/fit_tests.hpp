// Tests whether a fitted distribution describes the samples to which it was fitted. Pure; any thread may call.
//
// The parameters were fitted to the same samples, so the classical p-values do not apply. The p-values come from tables
// instead, one for each distribution, with a row for each shape. The tables list the statistics of samples that were
// drawn from the distribution and then fitted; `pwcet-bench --tables` prints the tables.
#pragma once

#include <span>

namespace rtexec::traces {

/// Returns the Anderson-Darling statistic. `probabilities`: the fitted distribution function at the samples, in
/// ascending order.
[[nodiscard]] double anderson_darling_statistic(std::span<const double> probabilities);
/// Returns sqrt(n) times the largest distance between the fitted and the empirical distribution function, for n
/// samples.
[[nodiscard]] double kolmogorov_smirnov_statistic(std::span<const double> probabilities);

enum class Law { gpd, gev };

/// Returns the p-value of a statistic. The tables cover p-values from 0.5 to 0.001. A larger p-value is returned as
/// 0.5; a smaller p-value is extrapolated. A shape outside the tables counts as the nearest shape in the tables.
[[nodiscard]] double anderson_darling_p_value(Law law, double shape, double statistic);
[[nodiscard]] double kolmogorov_smirnov_p_value(Law law, double shape, double statistic);

} // namespace rtexec::traces
