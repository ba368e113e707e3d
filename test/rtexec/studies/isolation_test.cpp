// Tests the isolation experiment: its results for a platform model, and, with the model of a Jetson TX2, the shape of
// the thesis's results.
#include "rtexec/studies/experiments/isolation.hpp"
#include "test/support/expected_result.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace rtexec::study {
namespace {

using namespace std::chrono_literals;
using test::problem;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr Bandwidth MB(std::uint64_t value) { return {value * 1'000'000}; }
const auto always = [] { return true; };

// ---- the experiment ----

/// A platform model with performance 10 minus the co-runners, and twice that under 100 MB/s.
class PlainPlatform : public IsolationPlatform {
 public:
  std::string name() const override { return "plain"; }
  std::string description() const override { return "by hand"; }
  unsigned max_corunners() const override { return 2; }
  std::vector<IsolationWorkload> workloads() const override {
    return {{.name = "network", .title = "Network", .unit = "FPS"}};
  }
  Result<IsolationMeasure> measure(const IsolationCase& wanted) override {
    if (wanted.corunners == broken_at) return fail(Errc::io_error, "the counter is lost");
    const double factor = wanted.limit == BandwidthLimit(MB(100)) ? 2 : 1;
    return IsolationMeasure{.performance = factor * (10 - wanted.corunners), .corunners = MB(wanted.corunners)};
  }
  Result<Bandwidth> sweep(unsigned corunners) override { return MB(1000 * corunners); }
  Result<std::vector<Duration>> executions(std::size_t count, BandwidthLimit limit) override {
    return std::vector<Duration>(count, limit ? 1ms : 2ms);
  }

  unsigned broken_at = 99;
};

const IsolationStudy plain_study{
    .workloads = {"network"}, .limits = {MB(10), MB(100)}, .corunners = 2, .runs = 5, .runs_limit = MB(100)};

TEST(Isolation, ComparesWithUnlimitedRunOfSameCorunnerCount) {
  PlainPlatform platform;
  const auto isolation = run_isolation(platform, plain_study, always);
  ASSERT_TRUE(isolation) << isolation.error().what;
  EXPECT_THAT(isolation->sweeps, ElementsAre(MB(1000), MB(2000)));
  ASSERT_EQ(isolation->results.size(), 1u);
  const auto& rows = isolation->results[0].rows;
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].limit, BandwidthLimit(MB(10)));
  EXPECT_EQ(rows[2].limit, BandwidthLimit());
  EXPECT_THAT(rows[0].speedup, ElementsAre(0, 0, 0));
  EXPECT_THAT(rows[1].speedup, ElementsAre(100, 100, 100));
  EXPECT_THAT(rows[2].speedup, ElementsAre(0, 0, 0));
}

TEST(Isolation, SummarisesOverCorunnerCounts) {
  PlainPlatform platform;
  const auto isolation = run_isolation(platform, plain_study, always);
  ASSERT_TRUE(isolation) << isolation.error().what;
  const IsolationResult& result = isolation->results[0];
  EXPECT_DOUBLE_EQ(result.rows[2].mean, 9);
  EXPECT_DOUBLE_EQ(result.rows[2].variance, 2.0 / 3);
  EXPECT_DOUBLE_EQ(result.rows[1].mean, 18);
  EXPECT_DOUBLE_EQ(result.rows[1].variance, 8.0 / 3);
  EXPECT_EQ(result.best, 1u);
  ASSERT_TRUE(isolation->runs);
  EXPECT_EQ(isolation->runs->spread_without.worst, 2ms);
  EXPECT_EQ(isolation->runs->spread_with.worst, 1ms);
  EXPECT_THAT(isolation->runs->with, ElementsAre(1ms, 1ms, 1ms, 1ms, 1ms));
}

TEST(Isolation, ReportsEachMeasurementAndCanBeCancelled) {
  PlainPlatform platform;
  std::size_t told = 0;
  ASSERT_TRUE(run_isolation(platform, plain_study, [&] { return ++told > 0; }));
  EXPECT_EQ(told, count_measurements(plain_study));
  for (std::size_t stop = 1; stop <= told; ++stop) {
    std::size_t left = stop;
    const auto cancelled = run_isolation(platform, plain_study, [&] { return --left > 0; });
    ASSERT_FALSE(cancelled);
    EXPECT_EQ(cancelled.error().code, Errc::cancelled);
  }
}

TEST(Isolation, OmitsRunsWhenNoneAreRequested) {
  PlainPlatform platform;
  IsolationStudy study = plain_study;
  study.runs = 0;
  const auto isolation = run_isolation(platform, study, always);
  ASSERT_TRUE(isolation);
  EXPECT_FALSE(isolation->runs);
}

TEST(Isolation, RefusesMissingCorunnersOrWorkloads) {
  PlainPlatform platform;
  IsolationStudy study = plain_study;
  study.corunners = 3;
  EXPECT_THAT(problem(run_isolation(platform, study, always)),
              HasSubstr("3 co-runners need as many cores, but there are only 2"));
  study = plain_study;
  study.workloads = {"netwrok"};
  EXPECT_THAT(problem(run_isolation(platform, study, always)), HasSubstr("did you mean 'network'?"));
  platform.broken_at = 1;
  EXPECT_THAT(problem(run_isolation(platform, plain_study, always)), HasSubstr("the counter is lost"));
}

TEST(Isolation, SpreadSummarisesDurations) {
  const Duration lengths[] = {2us, 4us, 9us};
  const Spread spread = spread_of(lengths);
  EXPECT_EQ(spread.least, 2us);
  EXPECT_EQ(spread.worst, 9us);
  EXPECT_EQ(spread.range(), 7us);
  EXPECT_DOUBLE_EQ(spread.mean_ns, 5000);
  EXPECT_DOUBLE_EQ(spread.variance_ns2, 26e6 / 3);
  EXPECT_EQ(spread_of({}).worst, 0ns);
}

// ---- the model ----

/// Returns the results of all workloads for a mode. They are computed once.
const Isolation& modelled(std::string_view mode) {
  static const auto all = [] {
    std::map<std::string, Isolation, std::less<>> isolations;
    for (const ModelledMode& each : tx2_model().modes) {
      const auto platform = modelled_platform(tx2_model(), each, 1);
      IsolationStudy study{.workloads = {},
                           .limits = {MB(10), MB(100), MB(512), MB(1000), MB(10'000)},
                           .corunners = 5,
                           .runs = 100'000,
                           .runs_limit = MB(100)};
      for (const IsolationWorkload& workload : platform->workloads()) study.workloads.push_back(workload.name);
      isolations.emplace(each.name, run_isolation(*platform, study, always).value());
    }
    return isolations;
  }();
  return all.find(mode)->second;
}

const IsolationResult& of(std::string_view mode, std::string_view workload) {
  return *std::ranges::find(modelled(mode).results, workload,
                            [](const IsolationResult& each) { return std::string_view(each.workload.name); });
}

/// Returns the speedup with five co-runners, in percent.
double speedup(std::string_view mode, std::string_view workload, std::uint64_t limit) {
  return std::ranges::find(of(mode, workload).rows, BandwidthLimit(MB(limit)), &IsolationRow::limit)->speedup.back();
}

/// Returns the performance with five co-runners and no limit, relative to that alone.
double slowed(std::string_view workload) {
  const auto& measures = of("thesis", workload).rows.back().measures;
  return measures.back().performance / measures.front().performance;
}

std::uint64_t best_limit(std::string_view mode, std::string_view workload) {
  const IsolationResult& result = of(mode, workload);
  return result.rows[result.best].limit.value_or(Bandwidth{0}).bytes_per_second / 1'000'000;
}

TEST(IsolationModel, SweepsReachBandwidthsMeasuredInThesis) {
  std::vector<double> gigabytes;
  for (const Bandwidth each : modelled("thesis").sweeps)
    gigabytes.push_back(static_cast<double>(each.bytes_per_second) * 1e-9);
  EXPECT_THAT(gigabytes, ElementsAre(DoubleNear(11.3, 0.01), DoubleNear(13.62, 0.01), DoubleNear(14.4, 0.01),
                                     DoubleNear(14.4, 0.01), DoubleNear(14.4, 0.01)))
      << "Fig. 17";
}

TEST(IsolationModel, FiveCorunnersSlowWorkloadsAsInThesis) {
  EXPECT_NEAR(slowed("detectnet"), 1 / 1.86, 0.02) << "7.2: 86 % can be regained; 8.1: slower by 45 %";
  EXPECT_LT(slowed("yolo"), 0.7) << "7.2: 41 to 45 % can be regained";
  EXPECT_NEAR(slowed("winograd-256p"), 1 / 1.135, 0.01) << "7.2: 13.5 % can be regained";
}

TEST(IsolationModel, KernelThroughputFallsFromFirstCorunnerOn) {
  const auto& measures = of("thesis", "winograd-512p").rows.back().measures;
  EXPECT_NEAR(measures[1].performance, 1.56, 0.03) << "IPC, 5.4";
  EXPECT_NEAR(static_cast<double>(measures[1].device.bytes_per_second) * 1e-9, 4.8, 0.1) << "GB/s, 5.4";
  for (std::size_t i = 1; i < measures.size(); ++i) {
    EXPECT_LE(measures[i].performance, measures[i - 1].performance);
    EXPECT_LE(measures[i].device, measures[i - 1].device);
  }
}

TEST(IsolationModel, BestLimitsMatchThesis) {
  for (const char* kernel : {"winograd-256p", "winograd-512p", "winograd-1024p", "winograd-2048p"})
    EXPECT_EQ(best_limit("thesis", kernel), 100u) << kernel;
  EXPECT_EQ(best_limit("thesis", "detectnet"), 100u);
  EXPECT_EQ(best_limit("thesis", "yolo"), 512u);
}

TEST(IsolationModel, SpeedupsMatchThesis) {
  EXPECT_NEAR(speedup("thesis", "winograd-256p", 100), 13.5, 0.5);
  for (const char* kernel : {"winograd-512p", "winograd-1024p", "winograd-2048p"})
    EXPECT_LT(speedup("thesis", kernel, 100), 13.5) << kernel;
  EXPECT_NEAR(speedup("thesis", "detectnet", 100), 86, 2);
  EXPECT_GE(speedup("thesis", "yolo", 512), 41);
  EXPECT_LE(speedup("thesis", "yolo", 512), 46);
  EXPECT_LT(speedup("thesis", "yolo", 100), 0) << "effective from 512 to 1000 MB/s";
  EXPECT_GT(speedup("thesis", "yolo", 1000), 20);
}

TEST(IsolationModel, SpeedupVanishesAboveBestLimit) {
  for (const IsolationResult& result : modelled("thesis").results) {
    for (std::size_t row = result.best + 1; row < result.rows.size(); ++row) {
      EXPECT_LT(result.rows[row].mean, result.rows[row - 1].mean) << result.workload.name;
      EXPECT_LE(result.rows[row].speedup.back(), result.rows[row - 1].speedup.back()) << result.workload.name;
    }
    EXPECT_NEAR(speedup("thesis", result.workload.name, 10'000), 0, 1) << result.workload.name;
  }
}

TEST(IsolationModel, VarianceOverCorunnersIsLowerAtBestLimitThanAboveIt) {
  for (const IsolationResult& result : modelled("thesis").results) {
    const double best = result.rows[result.best].variance;
    for (std::size_t row = result.best + 1; row < result.rows.size(); ++row)
      EXPECT_LT(best, result.rows[row].variance) << result.workload.name;
    EXPECT_LT(best, result.rows.back().variance / 20) << result.workload.name;
  }
}

TEST(IsolationModel, PipelinesCollapseWhenFeederCoreIsLimited) {
  EXPECT_NEAR(speedup("thesis", "detectnet", 10), -70, 3);
  EXPECT_NEAR(speedup("thesis", "yolo", 10), -90, 2);
  for (const auto& [kernel, left] : std::map<const char*, double>{
           {"winograd-256p", 7}, {"winograd-512p", 5}, {"winograd-1024p", 9}, {"winograd-2048p", 3}})
    EXPECT_NEAR(speedup("thesis", kernel, 10), left, 3) << kernel;
}

TEST(IsolationModel, PipelinesKeepTheirSpeedWhenFeederCoreIsNotLimited) {
  for (const IsolationResult& result : modelled("rtexec").results) {
    const double best_of_thesis =
        of("thesis", result.workload.name).rows[of("thesis", result.workload.name).best].speedup.back();
    EXPECT_GT(result.rows.front().speedup.back(), best_of_thesis - 1) << result.workload.name << " at 10 MB/s";
    for (const IsolationRow& row : result.rows)
      for (const double each : row.speedup)
        EXPECT_GE(each, -0.5) << result.workload.name << " at " << name_of(row.limit);
  }
}

TEST(IsolationModel, CorunnersGetTheirBudgets) {
  for (const char* mode : {"thesis", "rtexec"})
    for (const IsolationRow& row : of(mode, "detectnet").rows) {
      if (!row.limit || *row.limit > MB(1000)) continue;
      const double budgets = 5.0 * static_cast<double>(row.limit->bytes_per_second);
      EXPECT_NEAR(static_cast<double>(row.measures.back().corunners.bytes_per_second), budgets, 0.01 * budgets)
          << mode << " at " << name_of(row.limit);
    }
}

TEST(IsolationModel, NoiseLengthensWorstExecutionUnlessLimited) {
  for (const ModelledMode& mode : tx2_model().modes)
    for (const std::uint64_t seed : {1u, 2u, 3u}) {
      const auto platform = modelled_platform(tx2_model(), mode, seed);
      const Spread without = spread_of(platform->executions(100'000, {}).value()),
                   with = spread_of(platform->executions(100'000, MB(100)).value());
      EXPECT_NEAR(static_cast<double>(without.worst.count()) * 1e-3, 1775, 35) << "7.3";
      EXPECT_NEAR(static_cast<double>(with.worst.count()) * 1e-3, 1410, 15);
      EXPECT_NEAR(1 - static_cast<double>(with.worst.count()) / static_cast<double>(without.worst.count()), 0.2, 0.02);
      EXPECT_NEAR(without.variance_ns2 / with.variance_ns2, 7, 1);
      EXPECT_NEAR(static_cast<double>(without.range().count()) / static_cast<double>(with.range().count()), 4, 0.5);
      EXPECT_NEAR(without.mean_ns / with.mean_ns, 1, 0.015) << "does not change much";
    }
}

} // namespace
} // namespace rtexec::study
