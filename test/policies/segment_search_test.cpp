// Tests the results of the search for classes, volumes and cuts.
#include "policies/device/segment_search.hpp"
#include "policies/device/volume_search.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

namespace rtexec::policies {
namespace {

constexpr Nanos ms = 1'000'000;

/// Draws one to three short tasks and longer ones that are cut. The fraction `missing` of their memory does not fit.
LayeredSet mixed_rates(std::mt19937_64& random, std::size_t slow, double missing) {
  const auto between = [&](Nanos least, Nanos most) { return std::uniform_int_distribution(least, most)(random); };
  LayeredSet set;
  set.device.rule = SwapRule::pipelined;
  set.device.cost.in_per_chunk = set.device.cost.out_per_chunk = Duration(1'200'000);
  const auto add = [&](Nanos period, std::vector<Nanos> layers, std::uint32_t chunks) {
    const Nanos execution = std::accumulate(layers.begin(), layers.end(), Nanos{0});
    set.device.tasks.push_back(
        {.period = period, .deadline = period, .execution = execution, .most = chunks, .constants = chunks});
    const std::vector<Nanos> overheads(layers.size() - 1, 20'000);
    set.tasks.push_back({.layers = {.times = std::move(layers), .overheads = overheads, .tensors = {}},
                         .device_class = {},
                         .given = {}});
  };
  for (Nanos fast = between(1, 3); fast > 0; --fast) add(between(20 * ms, 50 * ms), {between(1 * ms, 5 * ms)}, 0);
  std::uint32_t chunks = 0;
  for (std::size_t k = 0; k < slow; ++k) {
    std::vector<Nanos> layers(static_cast<std::size_t>(between(5, 30)));
    for (Nanos& layer : layers) layer = between(ms / 2, 8 * ms);
    const auto own = static_cast<std::uint32_t>(between(4, 32));
    chunks += own;
    add(between(300 * ms, 3000 * ms), std::move(layers), own);
  }
  set.device.overflow = static_cast<std::uint32_t>(missing * chunks);
  return set;
}

TEST(SegmentSearch, ReturnsFeasibleChoicesWithReproducibleVerdicts) {
  std::mt19937_64 random(25);
  int proved = 0, levels = 0;
  for (int round = 0; round < 200; ++round) {
    const LayeredSet set = mixed_rates(random, 1 + random() % 4, static_cast<double>(random() % 3) / 5);
    for (const Order order : {Order::edf, Order::static_priority}) {
      const auto found = search_preemption(set, order);
      if (!found) continue;
      const Preemption& preemption = found->preemption;
      ASSERT_TRUE(fits(set.device, preemption.volumes));
      for (std::size_t i = 0; i < set.tasks.size(); ++i) {
        EXPECT_LE(preemption.volumes[i], set.device.tasks[i].most);
        EXPECT_TRUE(preemption.classes[i] > 0 || preemption.volumes[i] == 0) << "a top-class task swaps";
        ASSERT_LE(preemption.cuts[i].cuts.size() + 1, set.tasks[i].layers.times.size());
      }
      const PreemptionVerdict again = test_preemption(set, order, preemption);
      EXPECT_EQ(again.proved, found->proved);
      EXPECT_EQ(again.slack, found->slack);
      proved += found->proved ? 1 : 0;
      levels += found->proved && std::ranges::max(preemption.classes) > 1 ? 1 : 0;
    }
  }
  EXPECT_GT(proved, 150);
  EXPECT_GT(levels, 5);
}

TEST(SegmentSearch, KeepsGivenClassesAndSegments) {
  std::mt19937_64 random(26);
  for (int round = 0; round < 50; ++round) {
    LayeredSet set = mixed_rates(random, 2, 0.2);
    const std::size_t last = set.tasks.size() - 1;
    set.tasks[last].device_class = 2;
    set.tasks[last].given = cut_into(set.tasks[last].layers, 3, 0).segmentations.front();
    const auto found = search_preemption(set, Order::edf);
    if (!found) continue;
    EXPECT_EQ(found->preemption.classes[last], 2u);
    EXPECT_EQ(found->preemption.cuts[last].cuts, set.tasks[last].given->cuts);
  }
}

/// Everything is resident: limited preemption alone decides. Nearly every set that does not overload the device is
/// proved.
TEST(SegmentSearch, ProvesNearlyAllResidentSetsWithoutOverload) {
  std::mt19937_64 random(27);
  int possible = 0, proved = 0;
  for (int round = 0; round < 300; ++round) {
    const LayeredSet set = mixed_rates(random, 2 + random() % 4, 0);
    double utilisation = 0;
    for (const DeviceTask& task : set.device.tasks)
      utilisation += static_cast<double>(task.execution) / static_cast<double>(task.period);
    if (utilisation > 0.99) continue;
    ++possible;
    const auto found = search_preemption(set, Order::edf);
    proved += found && found->proved ? 1 : 0;
  }
  ASSERT_GT(possible, 100);
  EXPECT_GE(proved, possible * 99 / 100) << possible;
}

// ---- against all choices ----

std::vector<Cuts> all_cuts(const Layers& layers) {
  std::vector<Cuts> all;
  for (std::uint32_t chosen = 0; chosen < 1U << layers.overheads.size(); ++chosen) {
    Cuts& cuts = all.emplace_back();
    for (std::uint32_t layer = 0; layer < layers.overheads.size(); ++layer)
      if (chosen >> layer & 1) cuts.push_back(layer);
  }
  return all;
}

/// True if some choice for the tasks from `task` on is proved. `preemption` contains the choices of the tasks before.
bool any_is_proved(const LayeredSet& set, Order order, Preemption& preemption, std::size_t task = 0) {
  if (task == set.tasks.size())
    return fits(set.device, preemption.volumes) && test_preemption(set, order, preemption).proved;
  for (unsigned device_class = 0; device_class <= set.tasks.size(); ++device_class)
    for (std::uint32_t volume = 0; volume <= (device_class == 0 ? 0 : set.device.tasks[task].most); ++volume)
      for (const Cuts& cuts : all_cuts(set.tasks[task].layers)) {
        preemption.classes.push_back(device_class);
        preemption.volumes.push_back(volume);
        preemption.cuts.push_back({.cuts = cuts, .overhead = 0, .carry = {}});
        const bool found = any_is_proved(set, order, preemption, task + 1);
        preemption.classes.pop_back();
        preemption.volumes.pop_back();
        preemption.cuts.pop_back();
        if (found) return true;
      }
  return false;
}

/// Draws two or three tasks of up to three layers and four chunks, which do not all fit.
LayeredSet tiny_set(std::mt19937_64& random) {
  const auto between = [&](Nanos least, Nanos most) { return std::uniform_int_distribution(least, most)(random); };
  LayeredSet set;
  set.device.cost.in_per_chunk = set.device.cost.out_per_chunk = Duration(between(1, 4) * ms / 2);
  std::vector<std::pair<DeviceTask, LayeredTask>> tasks;
  for (Nanos left = between(2, 3); left > 0; --left) {
    Layers layers{.times = std::vector<Nanos>(static_cast<std::size_t>(between(1, 3))), .overheads = {}, .tensors = {}};
    for (Nanos& time : layers.times) time = between(1, 8) * ms;
    layers.overheads.assign(layers.times.size() - 1, ms / 4);
    const Nanos execution = std::accumulate(layers.times.begin(), layers.times.end(), Nanos{0});
    const Nanos period = execution * between(2, 10);
    const auto most = static_cast<std::uint32_t>(between(0, 4));
    tasks.push_back({{.period = period, .deadline = period, .execution = execution, .most = most, .constants = most},
                     {.layers = std::move(layers), .device_class = {}, .given = {}}});
  }
  std::ranges::sort(tasks, {}, [](const auto& task) { return task.first.period; });
  std::uint32_t chunks = 0;
  for (auto& [device, layered] : tasks) {
    chunks += device.most;
    set.device.tasks.push_back(device);
    set.tasks.push_back(std::move(layered));
  }
  set.device.overflow = static_cast<std::uint32_t>(between(0, chunks / 2));
  return set;
}

/// In 3,000 sets for each order, the search missed 19 of 1,533 and 18 of 1,532 that some preemption proves. This test
/// draws 300 sets for each.
TEST(SegmentSearch, MissesFewSetsThatExhaustiveSearchProves) {
  for (const Order order : {Order::edf, Order::static_priority}) {
    std::mt19937_64 random(28);
    int found = 0, missed = 0, none = 0;
    for (int round = 0; round < 300; ++round) {
      const LayeredSet set = tiny_set(random);
      const auto preemption = search_preemption(set, order);
      Preemption all;
      if (preemption && preemption->proved) ++found;
      else if (any_is_proved(set, order, all)) ++missed;
      else ++none;
    }
    RecordProperty(order == Order::edf ? "missed_edf" : "missed_static_priority", missed);
    EXPECT_GT(found, 100);
    EXPECT_GT(none, 30);
    EXPECT_LE(missed * 50, found);
  }
}

} // namespace
} // namespace rtexec::policies
