// Tests whether samples, in the order of measurement, may be taken as independent draws from one distribution. Pure;
// any thread may call.
//
// Many samples reveal every dependence, however harmless. So independence is tested with a tolerance that is part of
// the hypothesis, and the tests for slow changes see at most `slow_samples`, evenly spaced.
#pragma once

#include "traces/wcet/pwcet.hpp"

#include <span>

namespace rtexec::traces {

constexpr double level = 0.01; // significance level of every test that can refuse
constexpr std::size_t slow_samples = 10'000;
constexpr int ljung_box_lags = 20;
constexpr double tolerated_correlation = 0.05;

/// Tests that the level is stationary: Kwiatkowski, Phillips, Schmidt and Shin 1992, statistic eta_mu with a Bartlett
/// window.
[[nodiscard]] ApplicabilityTest kpss(std::span<const double> samples);
/// Applies the same test to the distances from the median, to find whether the spread is stationary.
[[nodiscard]] ApplicabilityTest kpss_of_spread(std::span<const double> samples, double median);

/// Tests for autocorrelation by Ljung and Box 1978. Tolerates autocorrelations whose root of the sum of squares is at
/// most `tolerated_correlation`.
[[nodiscard]] ApplicabilityTest ljung_box(std::span<const double> samples);

/// Tests for dependence by Wald and Wolfowitz 1940: runs above and below the median. Tolerates correlations of the
/// signs of at most `tolerated_correlation`.
[[nodiscard]] ApplicabilityTest runs(std::span<const double> samples, double median);

/// Tests for long memory by Lo 1991: the range of partial sums, modified for short memory.
[[nodiscard]] ApplicabilityTest rescaled_range(std::span<const double> samples);

/// Returns the number of independent samples that say as much about the mean: n / (1 + 2 sum of autocorrelations), at
/// least 1. The sum includes only significant autocorrelations. It ends after `quiet_lags` insignificant lags in a row,
/// or `max_lags` in all.
[[nodiscard]] double independent_samples(std::span<const double> samples);
constexpr std::size_t quiet_lags = 20;
constexpr std::size_t max_lags = 1000;

/// Returns P(W > x) for W, the integral of a squared Brownian bridge: the limit of the KPSS statistic (Anderson and
/// Darling 1952, equation 4.35).
[[nodiscard]] double squared_bridge_exceeds(double x);

/// Returns P(V > x) for V, the range of a Brownian bridge: the limit of Lo's statistic (Kuiper 1960).
[[nodiscard]] double bridge_range_exceeds(double x);

} // namespace rtexec::traces
