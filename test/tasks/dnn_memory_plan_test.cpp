// Tests the guarantees of the memory plan, with random lifetimes and with the lifetimes of real layouts.
#include "tasks/engine/graph/memory_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace rtexec::tasks {
namespace {

std::vector<Lifetime> random_lifetimes(std::mt19937& engine, std::size_t count, std::uint32_t steps,
                                       std::uint32_t longest) {
  std::vector<Lifetime> lifetimes;
  for (std::size_t i = 0; i < count; ++i) {
    const auto first = std::uniform_int_distribution<std::uint32_t>(0, steps)(engine);
    const auto length = std::uniform_int_distribution<std::uint32_t>(0, longest)(engine);
    // Sizes over several orders of magnitude, including 0.
    const auto bits = std::uniform_int_distribution<unsigned>(0, 20)(engine);
    lifetimes.push_back(
        {std::uniform_int_distribution<std::size_t>(0, std::size_t{1} << bits)(engine), first, first + length});
  }
  return lifetimes;
}

void expect_sound(const std::vector<Lifetime>& lifetimes, const MemoryPlan& plan) {
  ASSERT_EQ(plan.offsets.size(), lifetimes.size());
  EXPECT_GE(plan.size, plan.lower_bound);
  for (std::size_t i = 0; i < lifetimes.size(); ++i) {
    const auto& a = lifetimes[i];
    EXPECT_EQ(plan.offsets[i] % MemoryPlan::alignment, 0U);
    EXPECT_LE(plan.offsets[i] + a.size, plan.size);
    for (std::size_t j = 0; j < i; ++j) {
      const auto& b = lifetimes[j];
      if (a.size == 0 || b.size == 0 || a.last < b.first || b.last < a.first) continue;
      EXPECT_TRUE(plan.offsets[i] + a.size <= plan.offsets[j] || plan.offsets[j] + b.size <= plan.offsets[i])
          << "buffers " << j << " and " << i << " overlap";
    }
  }
}

std::size_t largest_sum_at_once(const std::vector<Lifetime>& lifetimes) {
  std::size_t most = 0;
  for (const auto& at : lifetimes) {
    std::size_t sum = 0;
    for (const auto& other : lifetimes)
      if (other.first <= at.first && at.first <= other.last)
        sum += (other.size + MemoryPlan::alignment - 1) / MemoryPlan::alignment * MemoryPlan::alignment;
    most = std::max(most, sum);
  }
  return most;
}

TEST(MemoryPlan, SimultaneouslyLiveTensorsNeverOverlap) {
  std::mt19937 engine(7);
  for (int round = 0; round < 300; ++round) {
    const auto lifetimes = random_lifetimes(engine, 1 + engine() % 60, 1 + static_cast<std::uint32_t>(engine() % 40),
                                            static_cast<std::uint32_t>(engine() % 12));
    const auto plan = plan_memory(lifetimes);
    expect_sound(lifetimes, plan);
    EXPECT_EQ(plan.lower_bound, largest_sum_at_once(lifetimes));
  }
}

TEST(MemoryPlan, StaysNearTheLowerBound) {
  std::mt19937 engine(11);
  double sum = 0, worst = 0;
  constexpr int rounds = 300;
  for (int round = 0; round < rounds; ++round) {
    const auto plan = plan_memory(random_lifetimes(engine, 60, 60, 6));
    const double ratio = static_cast<double>(plan.size) / static_cast<double>(plan.lower_bound);
    sum += ratio;
    worst = std::max(worst, ratio);
  }
  RecordProperty("mean_ratio", std::to_string(sum / rounds));
  RecordProperty("worst_ratio", std::to_string(worst));
  EXPECT_LT(sum / rounds, 1.05);
  EXPECT_LT(worst, 1.5);
}

TEST(MemoryPlan, ChainNeedsItsTwoLargestAdjacentTensors) {
  // Each tensor lives until the next one is computed, as in a network without branches.
  const std::vector<Lifetime> chain{{1000, 0, 1}, {6400, 1, 2}, {3200, 2, 3}, {6400, 3, 4}};
  const auto plan = plan_memory(chain);
  EXPECT_EQ(plan.lower_bound, 6400U + 3200U);
  EXPECT_EQ(plan.size, plan.lower_bound);
}

TEST(MemoryPlan, SizeIsZeroForNoOrEmptyTensors) {
  EXPECT_EQ(plan_memory({}).size, 0U);
  const std::vector<Lifetime> empty{{0, 0, 9}, {0, 3, 3}};
  EXPECT_EQ(plan_memory(empty).size, 0U);
}

} // namespace
} // namespace rtexec::tasks
