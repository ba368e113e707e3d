// Tests random task sets: drawn from the requested ranges, equal for equal seeds, nested, and with the chunks that
// plans use.
#include "policies/device/task_generator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>

namespace rtexec::policies {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::Ge;
using testing::Le;

constexpr Bytes mib(std::uint64_t count) { return {count << 20}; }

TaskSource own_source() {
  TaskSource source;
  source.period = {100ms, 10s};
  source.periods = Distribution::log_uniform;
  source.footprint = {mib(100), mib(900)};
  source.swappable = 0.8;
  source.constants = 0.25;
  return source;
}

/// Returns two networks. The low resolutions of the first need 100 MiB, the high ones of the second 1100 MiB.
TaskSource network_source() {
  TaskSource source;
  source.period = {3s, 5s};
  for (const std::uint64_t base : {100U, 1000U})
    source.networks.push_back(
        {{.execution = 10ms, .footprint = mib(base), .swappable = mib(base / 2), .constants = mib(10)},
         {.execution = 20ms, .footprint = mib(base + 100), .swappable = mib(base / 2), .constants = mib(10)}});
  return source;
}

std::vector<double> footprints(const std::vector<GeneratedTask>& tasks) {
  std::vector<double> result;
  for (const GeneratedTask& task : tasks) result.push_back(static_cast<double>(task.need.footprint.count));
  return result;
}

bool same(const std::vector<GeneratedTask>& a, const std::vector<GeneratedTask>& b) {
  const auto equal = [](const GeneratedTask& x, const GeneratedTask& y) {
    return x.period == y.period && x.need.execution == y.need.execution && x.need.footprint == y.need.footprint &&
           x.need.swappable == y.need.swappable;
  };
  return std::ranges::equal(a, b, equal);
}

double utilisation_of(const std::vector<GeneratedTask>& tasks) {
  double sum = 0;
  for (const GeneratedTask& task : tasks)
    sum += static_cast<double>(task.need.execution.count()) / static_cast<double>(task.period.count());
  return sum;
}

TEST(TaskGenerator, ReproducesSetOnlyForSameSeedAndNumber) {
  const TaskSource source = own_source();
  const StudyPoint point{.tasks = 6, .utilisation = 0.5};
  const auto set = generate(source, point, 7, 3);
  EXPECT_TRUE(same(set, generate(source, point, 7, 3)));
  EXPECT_FALSE(same(set, generate(source, point, 8, 3)));
  EXPECT_FALSE(same(set, generate(source, point, 7, 4)));
  EXPECT_FALSE(same(generate(source, point, 3, 7), set)); // seed and number are not interchangeable
}

TEST(TaskGenerator, DrawsWithinTheRanges) {
  const TaskSource source = own_source();
  for (std::uint64_t number = 0; number < 300; ++number)
    for (const GeneratedTask& task : generate(source, {.tasks = 5, .utilisation = 0.4}, 1, number)) {
      EXPECT_THAT(task.period, AllOf(Ge(100ms), Le(10s)));
      EXPECT_THAT(task.need.footprint, AllOf(Ge(mib(100)), Le(mib(900))));
      EXPECT_NEAR(static_cast<double>(task.need.swappable.count), 0.8 * static_cast<double>(task.need.footprint.count),
                  1);
      EXPECT_NEAR(static_cast<double>(task.need.constants.count), 0.25 * static_cast<double>(task.need.swappable.count),
                  1);
      EXPECT_GT(task.need.execution, 0ns);
      EXPECT_LE(task.need.execution, task.period);
    }
}

/// Returns the shares of 20000 periods in the four quarters of the range, on the scale of the distribution.
std::array<double, 4> quarters_of(Distribution distribution) {
  TaskSource source = own_source();
  source.periods = distribution;
  std::array<double, 4> counts{};
  constexpr int sets = 2000;
  for (std::uint64_t number = 0; number < sets; ++number)
    for (const GeneratedTask& task : generate(source, {.tasks = 10, .utilisation = 0.4}, 5, number)) {
      const double period = static_cast<double>(task.period.count());
      const double at = distribution == Distribution::uniform ? (period - 1e8) / (1e10 - 1e8)
                                                              : std::log(period / 1e8) / std::log(1e10 / 1e8);
      counts[std::min<std::size_t>(static_cast<std::size_t>(at * 4), 3)] += 1.0 / (10 * sets);
    }
  return counts;
}

TEST(TaskGenerator, DrawsPeriodsUniformlyOnTheirScale) {
  for (const Distribution distribution : {Distribution::uniform, Distribution::log_uniform})
    EXPECT_THAT(quarters_of(distribution), Each(AllOf(Ge(0.235), Le(0.265)))); // within 5 standard deviations
}

TEST(TaskGenerator, MeetsRequestedTotalUtilisation) {
  for (std::uint64_t number = 0; number < 200; ++number)
    for (const double utilisation : {0.05, 0.5, 1.0})
      EXPECT_NEAR(
          utilisation_of(generate(own_source(), {.tasks = 1 + number % 30, .utilisation = utilisation}, 1, number)),
          utilisation, 1e-6);
}

/// Shares of a total of one are uniform on the simplex: of three, each is below 1/2 in 3/4 of all cases and below 1/4
/// in 7/16.
TEST(TaskGenerator, UUniFastDrawsSharesUniformly) {
  constexpr int draws = 20'000;
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> share(0, 1);
  std::array<double, 3> below_half{}, below_quarter{};
  for (int i = 0; i < draws; ++i) {
    const std::array<double, 2> numbers{share(random), share(random)};
    const std::vector<double> shares = uunifast(1, numbers);
    ASSERT_EQ(shares.size(), 3U);
    EXPECT_NEAR(std::accumulate(shares.begin(), shares.end(), 0.0), 1, 1e-12);
    for (std::size_t k = 0; k < 3; ++k) {
      EXPECT_GE(shares[k], 0);
      below_half[k] += shares[k] < 0.5 ? 1.0 / draws : 0;
      below_quarter[k] += shares[k] < 0.25 ? 1.0 / draws : 0;
    }
  }
  EXPECT_THAT(below_half, Each(AllOf(Ge(0.75 - 0.016), Le(0.75 + 0.016))));
  EXPECT_THAT(below_quarter, Each(AllOf(Ge(7.0 / 16 - 0.018), Le(7.0 / 16 + 0.018))));
}

TEST(TaskGenerator, LargerSetsBeginWithSmallerSetsOfSameSeed) {
  TaskSource source = network_source();
  source.start = 3;
  source.start_footprint = {mib(2100), mib(2300)};
  for (std::uint64_t number = 0; number < 50; ++number) {
    auto large = generate(source, {.tasks = 9}, 2, number);
    large.resize(5);
    EXPECT_TRUE(same(large, generate(source, {.tasks = 5}, 2, number)));
  }
}

TEST(TaskGenerator, DrawsFirstTasksWithinStartFootprint) {
  TaskSource source = network_source();
  source.start = 3;
  source.start_footprint = {mib(2100), mib(2300)};
  for (std::uint64_t number = 0; number < 200; ++number) {
    const auto sizes = footprints(generate(source, {.tasks = 6}, 1, number));
    EXPECT_THAT(sizes[0] + sizes[1] + sizes[2], AllOf(Ge(2100.0 * (1 << 20)), Le(2300.0 * (1 << 20))));
  }
}

TEST(TaskGenerator, DrawsNetworksAndResolutionsEvenly) {
  std::array<double, 4> shares{};
  constexpr int sets = 2000;
  for (std::uint64_t number = 0; number < sets; ++number)
    for (const GeneratedTask& task : generate(network_source(), {.tasks = 10}, 1, number))
      shares[(task.need.footprint >= mib(1000) ? 2U : 0U) + (task.need.execution == 20ms ? 1U : 0U)] +=
          1.0 / (10 * sets);
  EXPECT_THAT(shares, Each(AllOf(Ge(0.235), Le(0.265))));
}

/// Each row raises one more resolution and changes nothing else.
TEST(TaskGenerator, RaisesResolutionsOneTaskAtATime) {
  for (std::size_t high = 0; high <= 6; ++high) {
    const auto tasks = generate(network_source(), {.tasks = 6, .high = high}, 1, 5);
    const auto lowest = generate(network_source(), {.tasks = 6, .high = 0}, 1, 5);
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      EXPECT_EQ(tasks[i].need.execution, i < high ? 20ms : 10ms);
      EXPECT_EQ(tasks[i].need.footprint - lowest[i].need.footprint, i < high ? mib(100) : mib(0));
      EXPECT_EQ(tasks[i].period, lowest[i].period);
    }
  }
}

// ---- fast tasks, and layers ----

TaskSource mixed_source() {
  TaskSource source = own_source();
  source.footprints = Distribution::log_uniform;
  source.execution = {30ms, 250ms};
  source.layers = {3, 12};
  source.fast = {.count = {1, 3}, .period = {20ms, 50ms}, .execution = {1ms, 5ms}};
  return source;
}

TEST(TaskGenerator, FastTasksComeFirstAndNeedNoMemory) {
  std::array<int, 4> counts{};
  for (std::uint64_t number = 0; number < 300; ++number) {
    const auto tasks = generate(mixed_source(), {.tasks = 4}, 1, number);
    const std::size_t fast = tasks.size() - 4;
    ASSERT_LT(fast, counts.size());
    ++counts[fast];
    for (const GeneratedTask& task : std::span(tasks).first(fast)) {
      EXPECT_THAT(task.period, AllOf(Ge(20ms), Le(50ms)));
      EXPECT_THAT(task.need.execution, AllOf(Ge(1ms), Le(5ms)));
      EXPECT_EQ(task.need.footprint, mib(0));
      EXPECT_TRUE(task.layers.empty());
    }
    for (const GeneratedTask& task : std::span(tasks).last(4)) {
      EXPECT_THAT(task.period, AllOf(Ge(100ms), Le(10s)));
      EXPECT_THAT(task.need.execution, AllOf(Ge(30ms), Le(250ms)));
      EXPECT_THAT(task.need.footprint, AllOf(Ge(mib(100)), Le(mib(900))));
    }
  }
  EXPECT_THAT(counts, ElementsAre(0, Ge(70), Ge(70), Ge(70)));
}

TEST(TaskGenerator, LayersSumToExecutionAndDifferByTenfoldAtMost) {
  for (const bool by_utilisation : {false, true}) {
    TaskSource source = mixed_source();
    if (by_utilisation) source.execution = {};
    source.fast = {};
    for (std::uint64_t number = 0; number < 100; ++number)
      for (const GeneratedTask& task : generate(source, {.tasks = 3, .utilisation = 0.5}, 1, number)) {
        EXPECT_THAT(task.layers.size(), AllOf(Ge(3U), Le(12U)));
        EXPECT_EQ(std::reduce(task.layers.begin(), task.layers.end()), task.need.execution);
        const auto [least, most] = std::ranges::minmax(task.layers);
        EXPECT_GE((least + 2ns) * 10, most);
      }
  }
}

TEST(TaskGenerator, LargerMixedSetsBeginWithSmallerSetsOfSameSeed) {
  for (std::uint64_t number = 0; number < 50; ++number) {
    auto large = generate(mixed_source(), {.tasks = 8}, 2, number);
    const auto small = generate(mixed_source(), {.tasks = 3}, 2, number);
    large.resize(small.size());
    EXPECT_TRUE(same(large, small));
    EXPECT_TRUE(std::ranges::equal(large, small, {}, &GeneratedTask::layers, &GeneratedTask::layers));
  }
}

// ---- chunks ----

/// Returns two tasks, in chunks of 64 MiB: the first has 2 not swappable and 3.5 swappable, of which 1.5 constants. The
/// larger one has 1, 4, 1.
std::vector<GeneratedTask> two_tasks() {
  return {
      {.period = 4s, .need = {.execution = 10ms, .footprint = mib(352), .swappable = mib(224), .constants = mib(96)}},
      {.period = 3s, .need = {.execution = 20ms, .footprint = mib(320), .swappable = mib(256), .constants = mib(64)}}};
}

DeviceSet set_with(MemoryModel memory, Bytes capacity, Order order = Order::edf) {
  return device_set_of(two_tasks(), {.capacity = capacity, .chunk = mib(64), .cost = {}}, memory, 2, order);
}

std::vector<std::uint32_t> max_of_each(const DeviceSet& set) {
  std::vector<std::uint32_t> most;
  for (const DeviceTask& task : set.tasks) most.push_back(task.most);
  return most;
}

TEST(TaskGenerator, RoundsFootprintsUpAndSwappableMemoryDown) {
  const DeviceSet set = set_with(MemoryModel::state, mib(400)); // six chunks
  EXPECT_THAT(max_of_each(set), ElementsAre(3, 4));
  EXPECT_EQ(set.overflow, 6U + 5 - 6);
  EXPECT_EQ(set.tasks[0].constants, 0U);
  EXPECT_EQ(set.tasks[0].deadline, set.tasks[0].period);
  EXPECT_EQ(set.tasks[1].execution, Nanos{20'000'000});
  EXPECT_EQ(set_with(MemoryModel::constants, mib(400)).tasks[1].constants, 4U);
}

TEST(TaskGenerator, TasksShareLargestScratchUnderClassesModel) {
  const DeviceSet set = set_with(MemoryModel::classes, mib(64));
  EXPECT_THAT(max_of_each(set), ElementsAre(2, 1));
  EXPECT_EQ(set.tasks[0].constants, 2U);
  // Constants, memory that is not swappable, and scratch, less the capacity.
  EXPECT_EQ(set.overflow, 2U + 1 + 2 + 1 + 3 - 1);
  EXPECT_EQ(set_with(MemoryModel::one_process, mib(64)).overflow, 2U + 1 + 2 + 3 - 1);
}

TEST(TaskGenerator, ReportsNoOverflowWhenEverythingFits) {
  EXPECT_EQ(set_with(MemoryModel::state, mib(4096)).overflow, 0U);
}

/// The two tasks have six and five chunks.
TEST(TaskGenerator, DerivesCapacityFromDemandWhenNoneIsGiven) {
  const auto overflow = [](double reduced) {
    return device_set_of(two_tasks(), {.reduced = reduced, .chunk = mib(64)}, MemoryModel::state, 2, Order::edf)
        .overflow;
  };
  EXPECT_EQ(overflow(0), 0U);
  EXPECT_EQ(overflow(50), 6U);
  EXPECT_EQ(overflow(33), 4U);
}

TEST(TaskGenerator, KeepsLayersWithTheirTasksWhenSorted) {
  auto tasks = two_tasks();
  tasks[0].layers = {4ms, 5ms, 1ms};
  const LayeredSet set =
      layered_set_of(tasks, {.chunk = mib(64), .cut_overhead = 20us}, MemoryModel::state, 2, Order::static_priority);
  ASSERT_EQ(set.tasks.size(), 2U);
  EXPECT_THAT(set.tasks[0].layers.times, ElementsAre(20'000'000));
  EXPECT_THAT(set.tasks[0].layers.overheads, ElementsAre());
  EXPECT_THAT(set.tasks[1].layers.times, ElementsAre(4'000'000, 5'000'000, 1'000'000));
  EXPECT_THAT(set.tasks[1].layers.overheads, ElementsAre(20'000, 20'000));
  EXPECT_EQ(set.device.tasks[1].execution, Nanos{10'000'000});
}

TEST(TaskGenerator, OrdersTasksByPeriodUnderStaticPriority) {
  const DeviceSet set = set_with(MemoryModel::state, mib(400), Order::static_priority);
  EXPECT_EQ(set.tasks[0].period, Nanos{3'000'000'000});
  EXPECT_THAT(max_of_each(set), ElementsAre(4, 3));
}

} // namespace
} // namespace rtexec::policies
