// Fits a tail to samples and estimates its quantiles. Pure; any thread may call.
//
// Both models are fitted to the upper end of the samples: to a number of exceedances (samples above a threshold), or of
// block maxima. The same rule chooses this number for both. The candidates are max_exceedances(n) or max_blocks(n) for
// n samples, then half of it, and so on down to `min_used`. Each candidate is fitted twice: whole, and with half as
// many exceedances or blocks (the higher tail). The first candidate is taken that fulfils two conditions: the whole fit
// passes its tests, and its shape lies in the confidence interval of the higher tail's shape.
//
// The confidence interval of a quantile is the smallest interval that contains the intervals of both fits, by profile
// likelihood. So it is wider for a tail that follows its limit law only further out (normal, Weibull).
#pragma once

#include "traces/wcet/pwcet.hpp"

#include <span>
#include <vector>

namespace rtexec::traces {

constexpr std::size_t min_used = 100; // minimum of exceedances or blocks
/// The maximum number of exceedances or blocks in a test; of more, this many at even distances of rank are tested
constexpr std::size_t max_tested = 250;
/// The share of the samples that is examined as tail, but not fewer than `min_used` samples
constexpr double top = 0.05;
constexpr std::size_t min_distinct = 50; // minimum number of different values in the top
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
