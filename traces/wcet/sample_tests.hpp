// Whether samples, in the order in which they were measured, may be taken as independent draws from one distribution.
// Pure; any thread may call.
//
// Samples in plenty find every dependence, however harmless: so independence is tested with a tolerance that is part of
// the hypothesis, and the tests for slow changes see at most `slow_samples`, evenly spaced.
#pragma once

#include "traces/wcet/pwcet.hpp"

#include <span>

namespace rtexec::traces {

constexpr double level = 0.01; // of every test that can refuse
constexpr std::size_t slow_samples = 10'000;
constexpr int ljung_box_lags = 20;
constexpr double tolerated_correlation = 0.05;

/// The level is stationary: Kwiatkowski, Phillips, Schmidt and Shin 1992, statistic eta_mu with a Bartlett window.
[[nodiscard]] ApplicabilityTest kpss(std::span<const double> samples);
/// The same of the distances from the median: so is the spread.
[[nodiscard]] ApplicabilityTest kpss_of_spread(std::span<const double> samples, double median);

/// Ljung and Box 1978, against autocorrelations of which the root of the sum of squares is at most
/// `tolerated_correlation`.
[[nodiscard]] ApplicabilityTest ljung_box(std::span<const double> samples);

/// Wald and Wolfowitz 1940: runs above and below the median, against correlations of the signs of at most
/// `tolerated_correlation`.
[[nodiscard]] ApplicabilityTest runs(std::span<const double> samples, double median);

/// Lo 1991: the range of partial sums, modified for short memory.
[[nodiscard]] ApplicabilityTest rescaled_range(std::span<const double> samples);

/// How many independent samples say as much of the mean: n / (1 + 2 sum of autocorrelations), of those that are
/// significant, up to `quiet_lags` in a row that are not and `max_lags` in all. At least 1.
[[nodiscard]] double independent_samples(std::span<const double> samples);
constexpr std::size_t quiet_lags = 20;
constexpr std::size_t max_lags = 1000;

/// P(W > x), W the integral of a squared Brownian bridge: the limit of the KPSS statistic (Anderson and Darling 1952,
/// equation 4.35).
[[nodiscard]] double squared_bridge_exceeds(double x);

/// P(V > x), V the range of a Brownian bridge: the limit of Lo's statistic (Kuiper 1960).
[[nodiscard]] double bridge_range_exceeds(double x);

} // namespace rtexec::traces
