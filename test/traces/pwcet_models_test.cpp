// Tests fits and confidence intervals of both tail models against scipy, closed forms, and invariants. The constants
// were found with scipy 1.17: densities of genpareto and genextreme, minimize(method='Nelder-Mead'), brentq for the
// limits of intervals.
#include "test/traces/pwcet_samples.hpp"
#include "traces/wcet/gev.hpp"
#include "traces/wcet/gpd.hpp"
#include "traces/wcet/likelihood.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace rtexec::traces::test {
namespace {

/// Returns the 200 largest of 2000 samples, relative to the next smaller one.
std::vector<double> peaks() {
  auto x = minimal_standard(2000);
  std::sort(x.begin(), x.end());
  std::vector<double> y(x.end() - 200, x.end());
  for (double& value : y) value -= x[1799];
  return y;
}

/// Returns the maxima of 100 blocks of 20.
std::vector<double> maxima() {
  const auto x = minimal_standard(2000);
  std::vector<double> y;
  for (auto begin = x.begin(); begin != x.end(); begin += 20) y.push_back(*std::max_element(begin, begin + 20));
  std::sort(y.begin(), y.end());
  return y;
}

TEST(PwcetGpd, FitAndIntervalsMatchScipy) {
  const auto y = peaks();
  const auto gpd = fit_gpd(y);
  ASSERT_TRUE(gpd);
  EXPECT_NEAR(gpd->shape, 0.07194698414436596, 1e-4);
  EXPECT_NEAR(gpd->scale, 4.782378719708747, 1e-3);
  EXPECT_NEAR(log_likelihood(*gpd, y), -527.3770133642917, 1e-6);
  EXPECT_NEAR(gpd->quantile(1e-3), 42.791928238206154, 2e-2);
  const auto shape = shape_interval(*gpd, y), quantile = quantile_interval(*gpd, y, 1e-3);
  ASSERT_TRUE(shape && quantile);
  EXPECT_NEAR(shape->low, -0.05169431567021267, 1e-3);
  EXPECT_NEAR(shape->high, 0.24635523524085357, 1e-3);
  EXPECT_NEAR(quantile->low, 30.768306208372632, 0.02);
  EXPECT_NEAR(quantile->high, 77.41803659263766, 0.1);
}

TEST(PwcetGev, FitAndIntervalsMatchScipy) {
  const auto y = maxima();
  const auto gev = fit_gev(y);
  ASSERT_TRUE(gev);
  EXPECT_NEAR(gev->shape, 0.1222252874053193, 1e-4);
  EXPECT_NEAR(gev->location, 115.86717790551074, 1e-3);
  EXPECT_NEAR(gev->scale, 4.679745373574745, 1e-3);
  EXPECT_NEAR(log_likelihood(*gev, y), -319.1943801783503, 1e-6);
  EXPECT_NEAR(gev->quantile(1e-3), 166.6450084781075, 2e-2);
  const auto shape = shape_interval(*gev, y), quantile = quantile_interval(*gev, y, 1e-3);
  ASSERT_TRUE(shape && quantile);
  EXPECT_NEAR(shape->low, -0.023474223198558523, 1e-3);
  EXPECT_NEAR(shape->high, 0.30960945002952917, 1e-3);
  EXPECT_NEAR(quantile->low, 147.04623271564924, 0.05);
  EXPECT_NEAR(quantile->high, 230.5951661911466, 0.2);
}

TEST(PwcetModels, QuantileAndSurvivalAreInverse) {
  for (const double shape : {-0.4, -1e-7, 0.0, 1e-7, 1e-4, 0.3})
    for (const double p : {0.9, 0.5, 1e-3, 1e-9}) {
      const Gpd gpd{5, shape};
      const Gev gev{100, 5, shape};
      EXPECT_NEAR(gpd.survival(gpd.quantile(p)) / p, 1, 1e-6) << shape << " " << p;
      EXPECT_NEAR(gev.survival(gev.quantile(p)) / p, 1, 1e-6) << shape << " " << p;
    }
}

TEST(PwcetModels, FitRecoversTrueParametersFromManySamples) {
  Random random(4);
  for (const double shape : {-0.3, -0.1, 0.0, 0.2, 0.4}) {
    auto y = samples(20'000, random, [&](Random& r) { return pareto(uniform(r), shape); });
    std::sort(y.begin(), y.end());
    const auto gpd = fit_gpd(y);
    ASSERT_TRUE(gpd);
    EXPECT_NEAR(gpd->shape, shape, 0.04); // four standard errors
    EXPECT_NEAR(gpd->scale, 5, 0.25);
    auto x = samples(5'000, random, [&](Random& r) { return Gev{100, 5, shape}.quantile(uniform(r)); });
    std::sort(x.begin(), x.end());
    const auto gev = fit_gev(x);
    ASSERT_TRUE(gev);
    EXPECT_NEAR(gev->shape, shape, 0.05);
    EXPECT_NEAR(gev->scale, 5, 0.3);
    EXPECT_NEAR(gev->location, 100, 0.35);
  }
}

TEST(PwcetModels, FitScalesWithTheUnitOfTime) {
  const auto y = peaks(), x = maxima();
  for (const double unit : {1e-9, 1e9}) {
    auto y2 = y, x2 = x;
    for (double& value : y2) value *= unit;
    for (double& value : x2) value *= unit;
    const auto gpd = fit_gpd(y), gpd2 = fit_gpd(y2);
    const auto gev = fit_gev(x), gev2 = fit_gev(x2);
    EXPECT_NEAR(gpd2->shape, gpd->shape, 1e-5);
    EXPECT_NEAR(gev2->shape, gev->shape, 1e-5);
    EXPECT_NEAR(quantile_interval(*gpd2, y2, 1e-4)->high / unit / quantile_interval(*gpd, y, 1e-4)->high, 1, 1e-3);
    EXPECT_NEAR(quantile_interval(*gev2, x2, 1e-4)->high / unit / quantile_interval(*gev, x, 1e-4)->high, 1, 1e-3);
  }
}

TEST(PwcetModels, FitOfUniformSamplesIsRefusedOrShortTailed) {
  Random random(5);
  auto y = samples(1000, random, uniform); // shape -1: the likelihood has no bound
  std::sort(y.begin(), y.end());
  const auto gpd = fit_gpd(y);
  EXPECT_TRUE(!gpd || gpd->shape < -0.7);
}

TEST(PwcetLikelihood, SumLog1pMatchesSumOfLogarithms) {
  const std::vector<double> y{0, 0.1, 3, 1e6, 1e12, 2, 7, 8, 9, 1e-300};
  for (const double c : {1e-12, 1e-3, 1.0, 1e6}) {
    double sum = 0;
    for (const double value : y) sum += std::log1p(c * value);
    EXPECT_NEAR(sum_log1p(c, y), sum, 1e-9 * std::max(1.0, sum));
  }
  EXPECT_TRUE(std::isinf(sum_log1p(-1, y)));
}

} // namespace
} // namespace rtexec::traces::test
