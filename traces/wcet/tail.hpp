// Fits a tail to samples and estimates its quantiles. A rule decides how much of the samples a model is fitted to, and
// how sure its quantiles are. Pure; any thread may call.
//
// The rule is the same for both models. Candidates are max_exceedances(n) or max_blocks(n), then half as many, and so
// on, not fewer than `min_used`. The first candidate is taken whose fit holds, and whose higher half can be fitted with
// a shape whose confidence interval holds the candidate's. The confidence interval of a quantile is the hull of the
// intervals by profile likelihood of both. A tail that follows its limit law only further out (normal, Weibull) shows
// in their difference.
#pragma once

#include "traces/wcet/pwcet.hpp"

#include <span>
#include <vector>

namespace rtexec::traces {

constexpr std::size_t min_used = 100;   // exceedances or blocks; the higher tail has half as many
constexpr std::size_t max_tested = 250; // exceedances that are tested if there are more, evenly ranked
/// The share of the samples that is examined as tail, but not fewer than `min_used` samples
constexpr double top = 0.05;
constexpr std::size_t min_distinct = 50; // number of different values in the top
/// Stricter than in other tests: the top of a harmless distribution follows a limit law only nearly
constexpr double one_tail_level = 0.001;

[[nodiscard]] std::size_t max_exceedances(std::size_t samples); // max(100, 10 n^0.3)
[[nodiscard]] std::size_t max_blocks(std::size_t samples);      // max(100, 6 n^0.3)
[[nodiscard]] std::size_t in_top(std::size_t samples);

/// Samples in the order of measurement, and in ascending order. In the latter, ties are spread evenly over the
/// `granule`, the smallest difference between samples of the top, to which a clock rounds.
struct Samples {
  explicit Samples(std::span<const double> measured);

  [[nodiscard]] std::size_t size() const { return measured.size(); }

  std::span<const double> measured;
  std::vector<double> ascending;
  double granule = 0; // 0: no two samples of the top differ
  std::size_t distinct_in_top = 0;
};

/// Tests that the whole top fits a generalised Pareto distribution, by Anderson and Darling's statistic. A mixture of
/// distributions does not fit.
[[nodiscard]] ApplicabilityTest one_tail(const Samples& samples);

/// Fits a generalised Pareto distribution to the excesses of peaks over a threshold.
[[nodiscard]] TailModel peaks_over_threshold(const Samples& samples, const PwcetOptions& options);

/// Fits a generalised extreme value distribution to the maxima of blocks of equal size.
[[nodiscard]] TailModel block_maxima(const Samples& samples, const PwcetOptions& options);

} // namespace rtexec::traces
