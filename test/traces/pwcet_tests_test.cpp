// Tests the applicability tests against independent oracles, and their level under the null hypothesis. Oracles:
// statsmodels 0.15 and scipy 1.17, as named at each constant, on the samples of `minimal_standard`.
#include "test/traces/pwcet_samples.hpp"
#include "traces/wcet/fit_tests.hpp"
#include "traces/wcet/gev.hpp"
#include "traces/wcet/gpd.hpp"
#include "traces/wcet/sample_tests.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace rtexec::traces::test {
namespace {

double median_of(std::vector<double> x) {
  std::sort(x.begin(), x.end());
  return (x[(x.size() - 1) / 2] + x[x.size() / 2]) / 2;
}

TEST(PwcetSampleTests, StatisticsMatchStatsmodels) {
  const std::vector<double> x = minimal_standard(2000);
  EXPECT_NEAR(kpss(x).statistic, 0.036337563616479315, 1e-9); // statsmodels.tsa.stattools.kpss(x, 'c', nlags=8)
  // statsmodels.stats.diagnostic.acorr_ljungbox(x, [20])
  EXPECT_NEAR(ljung_box(x).statistic, 19.31833, 1e-5);
  // statsmodels.sandbox.stats.runs.runstest_1samp(x, 'median', False)
  EXPECT_NEAR(runs(x, median_of(x)).statistic, 2.505022782159703, 1e-9);
  EXPECT_NEAR(rescaled_range(x).statistic, 0.925151651944566, 1e-9); // by definition, in numpy
}

TEST(PwcetSampleTests, LimitDistributionsMatchPublishedTables) {
  // scipy.stats._hypotests._cdf_cvm_inf; 0.347, 0.463 and 0.739 are the critical values of Kwiatkowski et al. 1992,
  // table 1.
  for (const auto& [x, p] : {std::pair{0.1, 0.5848734384},
                             {0.347, 0.1001912487},
                             {0.463, 0.0495171537},
                             {0.739, 0.0102506490},
                             {1.2, 0.000842602}})
    EXPECT_NEAR(squared_bridge_exceeds(x), p, 1e-8) << x;
  // Lo 1991, table II: 1.747, 1.862 and 2.098 are exceeded with 5, 2.5 and 0.5 %.
  for (const auto& [x, p] : {std::pair{1.747, 0.05}, {1.862, 0.025}, {2.098, 0.005}})
    EXPECT_NEAR(bridge_range_exceeds(x), p, 1e-4) << x;
  for (const double x : {0.0, 1e-6, 0.01, 0.0201, 0.3, 0.41, 5.0, 50.0, 1e6, 1e300}) {
    EXPECT_GE(squared_bridge_exceeds(x), 0) << x;
    EXPECT_LE(squared_bridge_exceeds(x), 1) << x;
    EXPECT_GE(bridge_range_exceeds(x), 0) << x;
    EXPECT_LE(bridge_range_exceeds(x), 1) << x;
  }
}

TEST(PwcetSampleTests, IndependentSamplesPassAtTheStatedLevel) {
  Random random(1);
  constexpr int repetitions = 300;
  std::array<int, 5> rejected{};
  for (int i = 0; i < repetitions; ++i) {
    const auto x = samples(2000, random, [](Random& r) { return gumbel(uniform(r)); });
    const double median = median_of(x);
    const std::array tests{kpss(x), kpss_of_spread(x, median), ljung_box(x), runs(x, median), rescaled_range(x)};
    for (std::size_t t = 0; t < tests.size(); ++t) rejected[t] += tests[t].holds ? 0 : 1;
  }
  // 3 on average at the level of 1 %. More than 9 occur in one of 1000 cases.
  for (const int count : rejected) EXPECT_LE(count, 9);
}

TEST(PwcetSampleTests, ToleranceAcceptsSmallCorrelationsOnly) {
  Random random(2);
  for (const auto& [correlation, holds] : {std::pair{0.02, true}, {0.1, false}}) {
    const auto x = autoregressive(200'000, random, correlation, [](double z) { return 100 + z; });
    EXPECT_EQ(ljung_box(x).holds, holds) << correlation;
    EXPECT_EQ(runs(x, median_of(x)).holds, holds) << correlation;
  }
}

TEST(PwcetFitTests, StatisticsMatchScipyAndNumpy) {
  const std::array u{0.1, 0.35, 0.4, 0.8};
  // 2 * scipy.stats.kstest(u, 'uniform').statistic
  EXPECT_NEAR(kolmogorov_smirnov_statistic(u), 0.7, 1e-12);
  EXPECT_NEAR(anderson_darling_statistic(u), 0.4072157397148626, 1e-12); // by definition, in numpy
}

TEST(PwcetFitTests, TablesRejectTheStatedShareOfFittedSamples) {
  constexpr int repetitions = 400;
  Random random(3);
  for (const Law law : {Law::gpd, Law::gev}) {
    int by_anderson_darling = 0, by_kolmogorov_smirnov = 0;
    for (int i = 0; i < repetitions; ++i) {
      auto x = samples(150, random, [&](Random& r) {
        return law == Law::gpd ? pareto(uniform(r), 0.1) : Gev{100, 5, 0.1}.quantile(uniform(r));
      });
      std::sort(x.begin(), x.end());
      const auto judge = [&](const auto& fitted) {
        std::vector<double> u;
        for (const double value : x) u.push_back(1 - fitted.survival(value));
        by_anderson_darling +=
            anderson_darling_p_value(law, fitted.shape, anderson_darling_statistic(u)) < 0.05 ? 1 : 0;
        by_kolmogorov_smirnov +=
            kolmogorov_smirnov_p_value(law, fitted.shape, kolmogorov_smirnov_statistic(u)) < 0.05 ? 1 : 0;
      };
      if (law == Law::gpd) judge(*fit_gpd(x));
      if (law == Law::gev) judge(*fit_gev(x));
    }
    EXPECT_NEAR(by_anderson_darling, 0.05 * repetitions, 13); // three standard deviations
    EXPECT_NEAR(by_kolmogorov_smirnov, 0.05 * repetitions, 13);
  }
}

TEST(PwcetFitTests, PValuesFallWithTheStatistic) {
  for (const double shape : {-3.0, -0.4, -0.3, 0.0, 0.39, 0.4, 3.0}) {
    double before = 1;
    for (double statistic = 0; statistic < 10; statistic += 0.01) {
      const double p = anderson_darling_p_value(Law::gpd, shape, statistic);
      EXPECT_LE(p, before);
      EXPECT_GE(p, 0);
      before = p;
    }
    EXPECT_LT(before, 1e-6);
  }
}

TEST(PwcetSampleTests, ConstantSamplesFail) {
  const std::vector<double> same(2000, 5.0);
  for (const auto& test : {kpss(same), kpss_of_spread(same, 5), runs(same, 5), rescaled_range(same)}) {
    EXPECT_FALSE(test.holds) << test.name;
    EXPECT_EQ(test.p_value, 0) << test.name;
    EXPECT_EQ(test.statistic, 0) << test.name;
  }
}

} // namespace
} // namespace rtexec::traces::test
