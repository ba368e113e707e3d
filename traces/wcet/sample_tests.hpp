// Tests whether samples, in the order of measurement, may be treated as independent draws from one distribution. Pure;
// any thread may call.
//
// With many samples, a test detects even a harmless dependence. So the tests of independence include a tolerance in the
// hypothesis, and the tests for slow changes use at most `slow_samples` samples, evenly spaced.
#pragma once

#include "traces/wcet/pwcet.hpp"

#include <span>

namespace rtexec::traces {

constexpr double level = 0.01; // significance level of every test that can refuse
constexpr std::size_t slow_samples = 10'000;
constexpr int ljung_box_lags = 20;
constexpr double tolerated_correlation = 0.05;

/// Tests for level stationarity: Kwiatkowski, Phillips, Schmidt and Shin 1992, statistic eta_mu with a Bartlett window.
[[nodiscard]] ApplicabilityTest kpss(std::span<const double> samples);
/// Tests that the spread is stationary: applies kpss() to the distances of the samples from the median.
[[nodiscard]] ApplicabilityTest kpss_of_spread(std::span<const double> samples, double median);

/// Tests for autocorrelation: Ljung and Box 1978. Tolerates autocorrelations if the square root of the sum of their
/// squares is at most `tolerated_correlation`.
[[nodiscard]] ApplicabilityTest ljung_box(std::span<const double> samples);

/// Tests for dependence by the runs above and below the median: Wald and Wolfowitz 1940. Tolerates correlations of the
/// signs up to `tolerated_correlation`.
[[nodiscard]] ApplicabilityTest runs(std::span<const double> samples, double median);

/// Tests for long memory by the range of partial sums, adjusted for short memory: Lo 1991.
[[nodiscard]] ApplicabilityTest rescaled_range(std::span<const double> samples);

/// Returns the effective sample size: the number of independent samples whose mean has the same variance as the mean of
/// these samples. It is n / (1 + 2 sum of autocorrelations) for n samples, at least 1. The sum includes only
/// significant autocorrelations. It ends after `quiet_lags` insignificant lags in a row, and at most after `max_lags`
/// lags.
[[nodiscard]] double independent_samples(std::span<const double> samples);
constexpr std::size_t quiet_lags = 20;
constexpr std::size_t max_lags = 1000;

/// Returns P(W > x) for W, the integral of a squared Brownian bridge: the limit of the KPSS statistic (Anderson and
/// Darling 1952, equation 4.35).
[[nodiscard]] double squared_bridge_exceeds(double x);

/// Returns P(V > x) for V, the range of a Brownian bridge: the limit of Lo's statistic (Kuiper 1960).
[[nodiscard]] double bridge_range_exceeds(double x);

} // namespace rtexec::traces
