// Tests the model of cores and a device that share a memory, against results computed by hand.
#include "rtexec/studies/simulator/contention.hpp"

#include "policies/bandwidth/bandwidth_budget.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace rtexec::simulator {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::Ge;
using testing::Le;

constexpr Bandwidth times(double value) { return {static_cast<std::uint64_t>(value * 1e9)}; }
constexpr Bandwidth MB(std::uint64_t value) { return {value * 1'000'000}; }

/// Two cores of 10 GB/s in a cluster of 12, two of 4; 16 together.
const SharedMemory memory{.cores = {times(4), times(10), times(10), times(4)},
                          .clusters = {{.cores = {1, 2}, .most = times(12)}},
                          .saturation = times(16)};
const Frame device_only{
    .cpu = 0ns, .traffic = {}, .memory_bound = 0, .device = 10ms, .device_traffic = {}, .sensitivity = 1.5};

CoreLimit limit_of(Bandwidth limit) {
  return {
      .limit = limit, .feeder = false, .period = 1ms, .line = {64}, .reaction = 0ns, .overshoot = Overshoot::forgive};
}

ContentionRun run_of(const Frame& frame, std::vector<unsigned> corunners) {
  return {.memory = memory,
          .frame = frame,
          .corunners = std::move(corunners),
          .limit = {},
          .noise = {},
          .frames = 20,
          .length = 0s};
}

double rate(const ContentionResult& result, std::size_t core) {
  return static_cast<double>(result.moved[core].count) / static_cast<double>(result.length.count()) * 1e9;
}

double mean_ns(const ContentionResult& result) {
  return static_cast<double>(result.length.count()) / static_cast<double>(result.frames.size());
}

// ---- shares ----

TEST(BandwidthShares, EqualDemandWhenBandwidthSuffices) {
  EXPECT_THAT(shares(memory, std::vector{times(1), times(10), times(0), times(4)}),
              ElementsAre(times(1), times(10), times(0), times(4)));
}

TEST(BandwidthShares, AreReducedInProportionByClusterThenByMemory) {
  EXPECT_THAT(shares(memory, std::vector{times(0), times(10), times(10), times(0)}),
              ElementsAre(times(0), times(6), times(6), times(0)));
  EXPECT_THAT(shares(memory, std::vector{times(4), times(10), times(10), times(4)}),
              ElementsAre(times(3.2), times(4.8), times(4.8), times(3.2)));
}

TEST(BandwidthShares, NeverExceedDemandClusterOrSaturation) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 1000; ++round) {
    std::vector<Bandwidth> demand;
    for (const Bandwidth most : memory.cores) demand.push_back({random() % (most.bytes_per_second + 1)});
    const std::vector<Bandwidth> given = shares(memory, demand);
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < given.size(); ++i) {
      EXPECT_LE(given[i].bytes_per_second, demand[i].bytes_per_second);
      sum += given[i].bytes_per_second;
    }
    EXPECT_LE(sum, memory.saturation.bytes_per_second + given.size()) << "rounding aside";
    EXPECT_LE(given[1].bytes_per_second + given[2].bytes_per_second, memory.clusters[0].most.bytes_per_second + 2);
  }
}

// ---- without limits ----

TEST(Contention, LoneFrameTakesItsNominalTime) {
  const Frame frame{.cpu = 3ms,
                    .traffic = {6'000'000},
                    .memory_bound = 0.7,
                    .device = 10ms,
                    .device_traffic = {},
                    .sensitivity = 1.5};
  const ContentionResult result = simulate_contention(run_of(frame, {}));
  EXPECT_THAT(result.frames, Each(13ms));
  EXPECT_EQ(result.frames.size(), 20u);
  EXPECT_EQ(result.length, 260ms);
  EXPECT_EQ(result.device, 200ms);
  EXPECT_EQ(result.moved[0], Bytes{20 * 6'000'000});
}

TEST(Contention, DeviceSlowsLinearlyWithTraffic) {
  EXPECT_THAT(simulate_contention(run_of(device_only, {3})).frames, Each(Duration(10ms) + Duration(15ms) * 4 / 16));
  EXPECT_THAT(simulate_contention(run_of(device_only, {1, 2})).frames, Each(Duration(10ms) + Duration(15ms) * 12 / 16));
  EXPECT_THAT(simulate_contention(run_of(device_only, {1, 2, 3})).frames, Each(25ms)) << "saturated";
}

TEST(Contention, CpuPartSlowsByBandwidthItsCoreLacks) {
  const Frame frame{
      .cpu = 2ms, .traffic = {8'000'000}, .memory_bound = 0.5, .device = 0ms, .device_traffic = {}, .sensitivity = 0};
  // Demands 4 of 4 + 12 + 4 and gets 3.2: half of its time gets a quarter longer.
  EXPECT_THAT(simulate_contention(run_of(frame, {1, 2, 3})).frames, Each(2250us));
  EXPECT_THAT(simulate_contention(run_of(frame, {3})).frames, Each(2ms)) << "enough for both";
}

TEST(Contention, RunsUntilBothFrameCountAndLengthAreReached) {
  ContentionRun run = run_of(device_only, {});
  run.length = 1s;
  EXPECT_EQ(simulate_contention(run).frames.size(), 100u);
  run.frames = 150;
  EXPECT_EQ(simulate_contention(run).length, 1500ms);
}

// ---- limits ----

class ContentionLimit : public testing::TestWithParam<std::uint64_t> {}; // MB/s

TEST_P(ContentionLimit, CoresMoveExactlyTheirBudgets) {
  ContentionRun run = run_of(device_only, {1, 2, 3});
  run.length = 1s;
  for (const Duration reaction : {Duration(0), Duration(17us)}) {
    run.limit = limit_of(MB(GetParam()));
    run.limit->reaction = reaction;
    run.limit->overshoot = Overshoot::carry;
    const ContentionResult result = simulate_contention(run);
    const double budget = static_cast<double>(policies::lines_of(MB(GetParam()), {64}, 1ms)) * 64 * 1000;
    // In bytes. The run may end within a period, before an overshoot is deducted.
    const double begun = 10e9 * 17e-6 + budget * 0.001;
    for (const std::size_t core : {1u, 2u, 3u}) EXPECT_NEAR(rate(result, core), budget, begun) << "core " << core;
    EXPECT_EQ(result.moved[0], Bytes{0});
  }
}

TEST_P(ContentionLimit, ThrottlesCoreForRestOfPeriod) {
  ContentionRun run = run_of(device_only, {3});
  run.limit = limit_of(MB(GetParam()));
  const ContentionResult result = simulate_contention(run);
  const double moving = static_cast<double>(result.moved[3].count) / 4.0;
  EXPECT_NEAR(static_cast<double>(result.held[3].count()), static_cast<double>(result.length.count()) - moving, 20.0);
  EXPECT_EQ(result.held[0], 0ns);
}

TEST_P(ContentionLimit, DeviceSlowsOnlyWhileLimitedCoreMovesData) {
  ContentionRun run = run_of(device_only, {3});
  run.length = 1s;
  run.limit = limit_of(MB(GetParam()));
  // The fraction of time in which core 3 sweeps. The speed is then 1 / 1.375, otherwise 1.
  const double busy = static_cast<double>(GetParam()) / 4000;
  EXPECT_NEAR(mean_ns(simulate_contention(run)), 10e6 / (1 - busy + busy / 1.375), 10e6 * 0.002);
}

INSTANTIATE_TEST_SUITE_P(MBs, ContentionLimit, testing::Values(10, 100, 512, 1000, 2000));

TEST(Contention, LimitThatNoCoreReachesHasNoEffect) {
  ContentionRun run = run_of(device_only, {1, 2, 3});
  const ContentionResult without = simulate_contention(run);
  run.limit = limit_of(times(10));
  run.limit->feeder = true;
  const ContentionResult with = simulate_contention(run);
  EXPECT_EQ(with.frames, without.frames);
  EXPECT_THAT(with.held, Each(0ns));
}

TEST(Contention, LimitsFeederCoreOnlyWhenRequested) {
  const Frame frame{
      .cpu = 2ms, .traffic = {2'000'000}, .memory_bound = 0.5, .device = 1ms, .device_traffic = {}, .sensitivity = 0};
  ContentionRun run = run_of(frame, {});
  run.limit = limit_of(MB(10));
  EXPECT_THAT(simulate_contention(run).frames, Each(3ms));
  run.limit->feeder = true;
  // 2 MB at 10 kB a period.
  EXPECT_THAT(simulate_contention(run).frames, Each(AllOf(Ge(198ms), Le(203ms))));
}

TEST(Contention, DeductsCarriedOvershootButNotForgivenOne) {
  ContentionRun run = run_of(device_only, {1});
  run.length = 1s;
  run.limit = limit_of(MB(100));
  run.limit->reaction = 20us; // 200 kB beyond 100 kB
  run.limit->overshoot = Overshoot::carry;
  EXPECT_NEAR(rate(simulate_contention(run), 1), 100e6, 1e6);
  run.limit->overshoot = Overshoot::forgive;
  EXPECT_NEAR(rate(simulate_contention(run), 1), 300e6, 2e6);
}

// ---- noise ----

Noise noise_of(Duration gap, std::uint64_t seed) {
  return {.cores = {1, 3}, .gap = gap, .shortest = 1ms, .longest = 3ms, .severity = 2, .jitter = 500us, .seed = seed};
}

TEST(ContentionNoise, IsReproducibleFromItsSeed) {
  ContentionRun run = run_of(device_only, {});
  run.frames = 500;
  run.noise = noise_of(20ms, 1);
  const auto first = simulate_contention(run).frames;
  EXPECT_EQ(simulate_contention(run).frames, first);
  run.noise->seed = 2;
  EXPECT_NE(simulate_contention(run).frames, first);
}

TEST(ContentionNoise, StaysWithinItsBounds) {
  ContentionRun run = run_of(device_only, {});
  run.frames = 500;
  run.noise = noise_of(1h, 1);
  EXPECT_THAT(simulate_contention(run).frames, Each(AllOf(Ge(10ms), Le(10500us)))) << "only jitter";
  run.noise = noise_of(5ms, 1);
  const auto frames = simulate_contention(run).frames;
  EXPECT_THAT(frames, Each(AllOf(Ge(10ms), Le(Duration(10500us) * 2875 / 1000)))) << "1 + 1.5 * 2 * 10 / 16 at most";
  EXPECT_GT(std::ranges::max(frames), 12ms);
}

TEST(ContentionNoise, IsReducedByBandwidthLimit) {
  ContentionRun run = run_of(device_only, {});
  run.frames = 1000;
  run.noise = noise_of(5ms, 1);
  const auto without = simulate_contention(run).frames;
  run.limit = limit_of(MB(50));
  const auto with = simulate_contention(run).frames;
  EXPECT_LT(std::ranges::max(with), 11ms);
  EXPECT_LT(std::ranges::max(with), std::ranges::max(without));
}

} // namespace
} // namespace rtexec::simulator
