// From samples to a fitted tail and its quantiles: how much of the samples a model is fitted to, by a rule, and how
// sure its quantiles are. Pure; any thread may call.
//
// The rule is the same for both models. Candidates are max_exceedances(n) or max_blocks(n), then half as many, and so
// on, not fewer than `min_used`. The first is taken where the fit holds, and where half of it, the higher tail, can
// be fitted with a shape whose confidence interval holds the candidate's. The confidence interval of a quantile is the
// hull of the intervals by profile likelihood of both: a tail that follows its limit law only further out (normal,
// Weibull) shows in their difference.
#pragma once

#include "traces/wcet/pwcet.hpp"

#include <span>
#include <vector>

namespace rtexec::traces {

constexpr std::size_t min_used = 100;   // and half of it in the higher tail
constexpr std::size_t max_tested = 250; // of more exceedances, as many are tested, evenly ranked
/// Of the samples are looked at as tail, not fewer than `min_used`
constexpr double top = 0.05;
constexpr std::size_t min_distinct = 50; // values in the top
/// Stricter than other tests: the top of a harmless body is only nearly a limit law
constexpr double one_tail_level = 0.001;

[[nodiscard]] std::size_t max_exceedances(std::size_t samples); // max(100, 10 n^0.3)
[[nodiscard]] std::size_t max_blocks(std::size_t samples);      // max(100, 6 n^0.3)
[[nodiscard]] std::size_t in_top(std::size_t samples);

/// The samples in the order of measurement, and in ascending order; there ties are spread evenly over the `granule`,
/// the smallest difference between samples of the top: a clock rounds to it.
struct Samples {
  explicit Samples(std::span<const double> measured);

  [[nodiscard]] std::size_t size() const { return measured.size(); }

  std::span<const double> measured;
  std::vector<double> ascending;
  double granule = 0; // 0: no two samples of the top differ
  std::size_t distinct_in_top = 0;
};

/// The whole top fits a generalised Pareto distribution: tested by Anderson and Darling's statistic. A mixture of
/// distributions does not.
[[nodiscard]] ApplicabilityTest one_tail(const Samples& samples);

/// Peaks over threshold: generalised Pareto distribution of the excesses.
[[nodiscard]] TailModel peaks_over_threshold(const Samples& samples, const PwcetOptions& options);

/// Generalised extreme value distribution of the maxima of blocks of equal size.
[[nodiscard]] TailModel block_maxima(const Samples& samples, const PwcetOptions& options);

} // namespace rtexec::traces
