#include "traces/wcet/sample_tests.hpp"

#include "traces/wcet/likelihood.hpp"
#include "traces/wcet/words.hpp"

#include <boost/math/distributions/complement.hpp>
#include <boost/math/distributions/non_central_chi_squared.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/special_functions/bessel.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <vector>

namespace rtexec::traces {
namespace {

/// Returns the deviations from the mean.
std::vector<double> centred(std::span<const double> samples) {
  std::vector<double> x(samples.begin(), samples.end());
  const double m = mean(samples);
  for (double& value : x) value -= m;
  return x;
}

std::vector<double> evenly_spaced(std::span<const double> samples) {
  const std::size_t step = (samples.size() + slow_samples - 1) / slow_samples;
  std::vector<double> some;
  for (std::size_t i = 0; i < samples.size(); i += step) some.push_back(samples[i]);
  return some;
}

double lagged_product(std::span<const double> x, std::size_t lag) {
  return std::inner_product(x.begin() + static_cast<std::ptrdiff_t>(lag), x.end(), x.begin(), 0.0);
}

std::size_t bartlett_lags(std::size_t n) {
  return static_cast<std::size_t>(4 * std::pow(static_cast<double>(n) / 100, 0.25));
}

/// Returns n times the variance of the mean of n samples: Newey and West 1987, Bartlett window.
double long_run_variance(std::span<const double> deviations) {
  const std::size_t lags = bartlett_lags(deviations.size());
  double sum = lagged_product(deviations, 0);
  for (std::size_t lag = 1; lag <= lags; ++lag)
    sum += 2 * (1 - static_cast<double>(lag) / static_cast<double>(lags + 1)) * lagged_product(deviations, lag);
  return sum / static_cast<double>(deviations.size());
}

std::vector<double> partial_sums(std::span<const double> deviations) {
  std::vector<double> sums(deviations.size());
  std::partial_sum(deviations.begin(), deviations.end(), sums.begin());
  return sums;
}

/// Returns the outcome of a test. If the tested values do not vary, the statistic is not a number and the test fails.
ApplicabilityTest judged(std::string name, std::string property, double statistic, double p_value, std::string rule) {
  const double p = std::isfinite(statistic) ? std::clamp(p_value, 0.0, 1.0) : 0;
  if (!std::isfinite(statistic)) statistic = 0;
  return {
      std::move(name), std::move(property), statistic, p, p >= level, "p >= " + number(level) + "; " + std::move(rule)};
}

std::string slow_rule(std::size_t tested, std::size_t all) {
  return number(tested) + (tested == all ? "" : " evenly spaced of " + number(all)) + " samples, Bartlett window of " +
         number(bartlett_lags(tested)) + " lags";
}

} // namespace

double squared_bridge_exceeds(double x) {
  if (!(x > 0.02)) return 1; // the result is exact to ten digits
  if (x > 100) return 0;
  double sum = 0, coefficient = 1; // gamma(j + 1/2) / (gamma(1/2) j!)
  for (int j = 0; j < 20; ++j) {
    const double a = (4.0 * j + 1) * (4.0 * j + 1) / (16 * x);
    if (a > 300) break;
    sum += coefficient * std::sqrt(4.0 * j + 1) * std::exp(-a) * boost::math::cyl_bessel_k(0.25, a);
    coefficient *= (j + 0.5) / (j + 1);
  }
  return std::clamp(1 - sum / (std::numbers::pi * std::sqrt(x)), 0.0, 1.0);
}

double bridge_range_exceeds(double x) {
  if (!(x > 0.4)) return 1; // the result is exact to ten digits
  double sum = 0;
  for (int k = 1; k < 100; ++k) {
    const double square = 2.0 * k * k * x * x;
    if (square > 700) break;
    sum += 2 * (2 * square - 1) * std::exp(-square);
  }
  return std::clamp(sum, 0.0, 1.0);
}

ApplicabilityTest kpss(std::span<const double> samples) {
  const std::vector<double> x = centred(evenly_spaced(samples)), sums = partial_sums(x);
  const auto n = static_cast<double>(x.size());
  const double statistic = lagged_product(sums, 0) / (n * n * long_run_variance(x));
  return judged("kpss", "stationary", statistic, squared_bridge_exceeds(statistic),
                slow_rule(x.size(), samples.size()));
}

ApplicabilityTest kpss_of_spread(std::span<const double> samples, double median) {
  std::vector<double> distances(samples.begin(), samples.end());
  for (double& x : distances) x = std::abs(x - median);
  ApplicabilityTest test = kpss(distances);
  test.property = "stationary spread";
  test.rule += ", of their distances from the median";
  return test;
}

ApplicabilityTest rescaled_range(std::span<const double> samples) {
  const std::vector<double> x = centred(evenly_spaced(samples)), sums = partial_sums(x);
  const auto [low, high] = std::minmax_element(sums.begin(), sums.end());
  const double statistic = (*high - *low) / std::sqrt(static_cast<double>(x.size()) * long_run_variance(x));
  return judged("rescaled-range", "no long memory", statistic, bridge_range_exceeds(statistic),
                slow_rule(x.size(), samples.size()));
}

double independent_samples(std::span<const double> samples) {
  const std::vector<double> x = centred(samples);
  const auto n = static_cast<double>(x.size());
  const double variance = lagged_product(x, 0);
  if (!(variance > 0)) return n;
  double correlations = 0;
  std::size_t quiet = 0;
  for (std::size_t lag = 1; lag < std::min(x.size() / 2, max_lags) && quiet < quiet_lags; ++lag) {
    const double correlation = lagged_product(x, lag) / variance;
    const bool significant = correlation > 2 / std::sqrt(n);
    quiet = significant ? 0 : quiet + 1;
    if (significant) correlations += correlation;
  }
  return std::max(1.0, n / (1 + 2 * correlations));
}

ApplicabilityTest ljung_box(std::span<const double> samples) {
  const std::vector<double> x = centred(samples);
  const auto n = static_cast<double>(x.size());
  const double variance = lagged_product(x, 0);
  double statistic = 0;
  for (int lag = 1; lag <= ljung_box_lags; ++lag) {
    const double correlation = lagged_product(x, static_cast<std::size_t>(lag)) / variance;
    statistic += n * (n + 2) * correlation * correlation / (n - lag);
  }
  const boost::math::non_central_chi_squared tolerated(ljung_box_lags,
                                                       n * tolerated_correlation * tolerated_correlation);
  return judged(
      "ljung-box", "independent", statistic, cdf(complement(tolerated, statistic)),
      number(ljung_box_lags) + " lags, autocorrelations of " + number(tolerated_correlation) + " in all are tolerated");
}

ApplicabilityTest runs(std::span<const double> samples, double median) {
  double above = 0, below = 0, count = 0;
  bool last = false;
  for (const double x : samples) {
    if (x == median) continue;
    const bool is_above = x > median;
    if (above + below == 0 || is_above != last) ++count;
    ++(is_above ? above : below);
    last = is_above;
  }
  const double n = above + below, expected = 1 + 2 * above * below / n;
  const double deviation = std::sqrt((expected - 1) * (expected - 2) / (n - 1));
  const double z = (count - expected) / deviation, tolerated = tolerated_correlation * std::sqrt(n);
  const boost::math::normal unit;
  const double p = std::isfinite(z) ? cdf(unit, tolerated - std::abs(z)) + cdf(unit, -tolerated - std::abs(z)) : 0;
  return judged("runs", "independent", z, p,
                number(static_cast<std::uint64_t>(n)) + " samples above or below the median, a correlation of " +
                    number(tolerated_correlation) + " of the signs is tolerated");
}

} // namespace rtexec::traces
