// Fits a tail to samples and estimates its quantiles. Pure; any thread may call.
//
// Both models are fitted to the upper end of the samples: to a number of exceedances (samples above a threshold), or to
// a number of block maxima. One rule chooses this number for both models. For n samples, the first candidate is
// max_exceedances(n) or max_blocks(n). Each further candidate is half the previous candidate, down to `min_used`. Each
// candidate is fitted twice: whole, and with half as many exceedances or blocks (the higher tail). The rule takes the
// first candidate that fulfils two conditions: the whole fit passes its tests, and its shape lies in the confidence
// interval of the higher tail's shape.
//
// The confidence interval of a quantile is the smallest interval that contains the intervals of both fits, by profile
// likelihood. So the interval is wider for a tail that approaches its limit distribution slowly (normal, Weibull).
#pragma once

#include "traces/wcet/pwcet.hpp"

#include <span>
#include <vector>

namespace rtexec::traces {

constexpr std::size_t min_used = 100; // minimum number of exceedances or blocks
/// The maximum number of exceedances or blocks in a test. If there are more, the test uses this number of them, at
/// equal distances of rank
constexpr std::size_t max_tested = 250;
/// The share of the samples that is examined as tail; at least `min_used` samples are examined
constexpr double top = 0.05;
constexpr std::size_t min_distinct = 50; // minimum number of different values among the examined samples
/// Significance level of one_tail(). It is lower than in other tests: even the tail of a single distribution, which is
/// no mixture, follows its limit distribution only approximately. The lower level makes it rarer that such a tail is
/// refused.
constexpr double one_tail_level = 0.001;

[[nodiscard]] std::size_t max_exceedances(std::size_t samples); // max(100, 10 n^0.3)
[[nodiscard]] std::size_t max_blocks(std::size_t samples);      // max(100, 6 n^0.3)
[[nodiscard]] std::size_t in_top(std::size_t samples);

/// Samples in the order of measurement, and in ascending order. In the ascending samples, equal values are spread
/// evenly over `granule`. The `granule` is the smallest difference between samples of the tail: the resolution to which
/// a clock rounds.
struct Samples {
  explicit Samples(std::span<const double> measured);

  [[nodiscard]] std::size_t size() const { return measured.size(); }

  std::span<const double> measured;
  std::vector<double> ascending;
  double granule = 0; // 0: no two samples of the tail differ
  std::size_t distinct_in_top = 0;
};

/// Tests that the whole tail fits one generalised Pareto distribution, by Anderson and Darling's statistic. A mixture
/// of distributions does not fit.
[[nodiscard]] ApplicabilityTest one_tail(const Samples& samples);

/// Fits a generalised Pareto distribution to the excesses of peaks over a threshold.
[[nodiscard]] TailModel peaks_over_threshold(const Samples& samples, const PwcetOptions& options);

/// Fits a generalised extreme value distribution to the maxima of blocks of equal size.
[[nodiscard]] TailModel block_maxima(const Samples& samples, const PwcetOptions& options);

} // namespace rtexec::traces
