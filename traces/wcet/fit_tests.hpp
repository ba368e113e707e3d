// Whether a fitted distribution describes the samples that it was fitted to. Pure; any thread may call.
//
// The parameters come from the same samples, so the classical p-values do not apply. Here they come from tables of the
// statistics of samples that were drawn from, and fitted with, the distribution, by its shape; `pwcet-bench --tables`
// prints them.
#pragma once

#include <span>

namespace rtexec::traces {

/// Of probabilities, ascending: the fitted distribution function at the samples.
[[nodiscard]] double anderson_darling_statistic(std::span<const double> probabilities);
/// sqrt(n) times the largest distance.
[[nodiscard]] double kolmogorov_smirnov_statistic(std::span<const double> probabilities);

enum class Law { gpd, gev };

/// P-values of at most 0.5, where the tables end; below 0.001, their other end, extrapolated. Shapes beyond the tables'
/// count as their ends.
[[nodiscard]] double anderson_darling_p_value(Law law, double shape, double statistic);
[[nodiscard]] double kolmogorov_smirnov_p_value(Law law, double shape, double statistic);

} // namespace rtexec::traces
