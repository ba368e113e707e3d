// Tests the schedulability tests of the rule `segmented` against their second implementation, against `pipelined`, and
// with values computed by hand.
#include "policies/device/segmented_tests.hpp"

#include "policies/device/device_tests.hpp"
#include "policies/device/swap_bounds.hpp"
#include "test/policies/reference_segmented.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <string>
#include <utility>

namespace rtexec::policies {
namespace {

using rtexec::test::CutSet;
using rtexec::test::CutTask;
using Faults = rtexec::test::SegmentedFaults;

class Draw {
 public:
  explicit Draw(unsigned seed) : random_(seed) {}
  long long between(long long low, long long high) {
    return std::uniform_int_distribution<long long>(low, high)(random_);
  }

 private:
  std::mt19937 random_;
};

CutSet random_set(Draw& draw, Order order) {
  CutSet set{.tasks = {}, .order = order};
  const auto levels = static_cast<unsigned>(draw.between(1, 3));
  const long long n = draw.between(2, 6);
  unsigned largest = 0;
  for (long long i = 0; i < n; ++i) {
    CutTask task;
    task.period = draw.between(30, 400);
    task.device_class = static_cast<unsigned>(draw.between(0, levels));
    task.jitter = draw.between(0, 2) == 0 ? draw.between(1, task.period / 3) : 0;
    task.deadline = task.period - task.jitter;
    if (draw.between(0, 1) == 0) task.deadline = draw.between(task.deadline / 2, task.deadline);
    if (task.device_class > 0 && draw.between(0, 2) > 0) task.chunks = static_cast<unsigned>(draw.between(1, 4));
    for (long long left = std::max(1LL, draw.between(1, task.period / (2 * n))); left > 0;) {
      task.segments.push_back(draw.between(1, left));
      left -= task.segments.back();
    }
    largest = std::max(largest, task.chunks);
    set.tasks.push_back(task);
  }
  set.frames = largest + static_cast<unsigned>(draw.between(0, 5));
  set.copy_engines = static_cast<unsigned>(draw.between(1, 2));
  set.in = draw.between(0, 3);
  set.out = draw.between(0, 3);
  set.in_fixed = draw.between(0, 1);
  set.out_fixed = draw.between(0, 1);
  set.launch_ahead = static_cast<unsigned>(draw.between(0, 2));
  if (order == Order::static_priority) std::ranges::sort(set.tasks, {}, &CutTask::period);
  return set;
}

class SegmentedAnalysisPerOrder : public testing::TestWithParam<Order> {};
INSTANTIATE_TEST_SUITE_P(Segmented, SegmentedAnalysisPerOrder, testing::Values(Order::edf, Order::static_priority),
                         [](const auto& order) { return order.param == Order::edf ? "edf" : "static_priority"; });

TEST_P(SegmentedAnalysisPerOrder, MatchesReferenceImplementation) {
  Draw draw(51);
  int proved = 0;
  int refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    const CutSet set = random_set(draw, GetParam());
    const auto expected = rtexec::test::reference_segmented(set);
    const std::vector<long long> bounds = bounds_of(set);
    ASSERT_EQ(!bounds.empty(), expected.has_value()) << described(set);
    if (expected) { ASSERT_EQ(bounds, *expected) << described(set); }
    (expected ? proved : refused)++;
  }
  EXPECT_GT(proved, 4000);
  EXPECT_GT(refused, 4000);
}

struct Broken {
  const char* name;
  Faults faults;
};

class SegmentedReferenceWithFault : public testing::TestWithParam<Broken> {};
INSTANTIATE_TEST_SUITE_P(
    Deliberate, SegmentedReferenceWithFault,
    testing::Values(Broken{"top_class_below", {.top_class_below = true}},
                    Broken{"top_class_later", {.top_class_later = true}},
                    Broken{"launch_ahead", {.launch_ahead = true}}, Broken{"committed_tail", {.committed_tail = true}},
                    Broken{"level_below", {.level_below = true}}, Broken{"flight_below", {.flight_below = true}},
                    Broken{"above_due", {.above_due = true}}, Broken{"above_jitter", {.above_jitter = true}},
                    Broken{"top_class_above", {.top_class_above = true}}, Broken{"load_above", {.load_above = true}},
                    Broken{"run_above", {.run_above = true}}, Broken{"flight_above", {.flight_above = true}},
                    Broken{"restore", {.restore = true}}, Broken{"restore_once", {.restore_once = true}},
                    Broken{"restore_start", {.restore_start = true}}, Broken{"delay", {.delay = true}},
                    Broken{"staged_load", {.staged_load = true}}, Broken{"running_job", {.running_job = true}},
                    Broken{"rests", {.rests = true}}, Broken{"pairing", {.pairing = true}},
                    Broken{"bypass", {.bypass = true}}, Broken{"closed", {.closed = true}}),
    [](const auto& broken) { return std::string(broken.param.name); });

TEST_P(SegmentedReferenceWithFault, DiffersFromAnalysis) {
  int different = 0;
  for (const Order order : {Order::edf, Order::static_priority}) {
    Draw draw(52);
    for (int i = 0; i < 2'000; ++i) {
      const CutSet set = random_set(draw, order);
      const auto broken = rtexec::test::reference_segmented(set, GetParam().faults);
      different += bounds_of(set) != broken.value_or(std::vector<long long>{});
    }
  }
  EXPECT_GT(different, 10);
}

// ---- one level ----

/// Draws tasks that are not cut.
CutSet one_level(Draw& draw, Order order) {
  CutSet set = random_set(draw, order);
  unsigned most = 0, all = 0;
  for (CutTask& task : set.tasks) {
    task.device_class = 1;
    task.deadline += std::exchange(task.jitter, 0);
    task.segments = {std::accumulate(task.segments.begin(), task.segments.end(), 0LL)};
    if (draw.between(0, 2) > 0 && task.chunks == 0) task.chunks = static_cast<unsigned>(draw.between(1, 4));
    most = std::max(most, task.chunks);
    all += task.chunks;
  }
  set.frames = std::min(static_cast<unsigned>(draw.between(most, 2 * most)), all);
  return set;
}

/// Returns the bounds of DeviceTest::pipelined, or an empty list if they are not proved.
std::vector<long long> pipelined_bounds(const CutSet& set) {
  DeviceSet device{.tasks = {},
                   .overflow = 0,
                   .copy_engines = set.copy_engines,
                   .rule = SwapRule::pipelined,
                   .cost = {.in_per_chunk = Duration(set.in),
                            .out_per_chunk = Duration(set.out),
                            .in_fixed = Duration(set.in_fixed),
                            .out_fixed = Duration(set.out_fixed)}};
  Volumes volumes;
  for (const CutTask& task : set.tasks) {
    device.tasks.push_back({.period = task.period,
                            .deadline = task.deadline,
                            .execution = task.segments.front(),
                            .least = task.chunks,
                            .most = task.chunks});
    volumes.push_back(task.chunks);
    device.overflow += task.chunks;
  }
  device.overflow -= set.frames;
  const DeviceVerdict verdict = test_device(device, DeviceTest::pipelined, set.order, volumes);
  if (!verdict.proved) return {};
  return {verdict.responses.begin(), verdict.responses.end()};
}

TEST_P(SegmentedAnalysisPerOrder, EqualsPipelinedTestForOneLevel) {
  Draw draw(53);
  int proved = 0;
  for (int i = 0; i < 20'000; ++i) {
    const CutSet set = one_level(draw, GetParam());
    const std::vector<long long> bounds = bounds_of(set);
    ASSERT_EQ(bounds, pipelined_bounds(set)) << described(set);
    proved += !bounds.empty();
  }
  EXPECT_GT(proved, 4000);
}

// ---- values computed by hand ----

/// Returns a task of 2 segments of 3 at level 1 and one of 4 segments of 10 at level 2, which both load, and a
/// top-class job of 1.
CutSet by_hand(Order order) {
  return {.tasks = {{.period = 50, .deadline = 50, .device_class = 0, .segments = {1}},
                    {.period = 200, .deadline = 200, .device_class = 1, .chunks = 2, .segments = {3, 3}},
                    {.period = 1000, .deadline = 1000, .device_class = 2, .chunks = 3, .segments = {10, 10, 10, 10}}},
          .order = order,
          .frames = 3,
          .copy_engines = 1,
          .in = 2,
          .out = 1,
          .in_fixed = 1};
}

TEST(SegmentedAnalysis, ComputesHoldTimesOfExample) {
  const SegmentedAnalysis analysis(charged(by_hand(Order::edf)));
  EXPECT_EQ(analysis.hold(0, 1), 1);
  EXPECT_EQ(analysis.hold(0, 2), 1);
  // C is 6, o is 1 + 2 x 3, a segment takes 10, a chunk in flight 1 + 2, and reloading 2 x 3 + 2 x 1.
  EXPECT_EQ(analysis.hold(1, 2), 6 + 7 + 10 + 3 + 8);
}

TEST(SegmentedAnalysis, ComputesResponseTimesOfExample) {
  const SegmentedAnalysis analysis(charged(by_hand(Order::static_priority)));
  EXPECT_EQ(analysis.response(0).from_release, 10 + 1);
  // The segment and the chunk, its load and execution, and top-class jobs at 0 until its last segment begins.
  EXPECT_EQ(analysis.response(1).from_release, 10 + 3 + 7 + 6 + 1);
  // Alone on its level: its load and execution, one hold, and top-class jobs at 0 and 50.
  EXPECT_EQ(analysis.response(2).from_release, 10 + 40 + 34 + 2);
}

/// A task that leaves no free frames for a load delays that load, but is not refused. The busy period of the level
/// below is 105 + 142, and its end is 54 later. By then a second job above has come.
TEST(SegmentedAnalysis, CountsHigherLevelJobsUntilLastLowerJobEnds) {
  SegmentedSet set;
  set.tasks.push_back({.part = {.period = 250, .deadline = 249, .cost = 97, .load = 12},
                       .device_class = 1,
                       .run = 97,
                       .last = 97,
                       .restore = 12});
  set.tasks.push_back({.part = {.period = 398, .deadline = 397, .cost = 105, .load = 54, .delay = 6},
                       .device_class = 2,
                       .run = 15,
                       .last = 6,
                       .restore = 54});
  set.flight = 6;
  const SegmentedAnalysis analysis(set);
  EXPECT_EQ(analysis.hold(0, 2), 142);
  const DemandAnalysis found = analysis.demand();
  EXPECT_FALSE(found.proved());
  EXPECT_EQ(found.slack[1], 397 - 159 - 2 * 142);
}

TEST(SegmentedAnalysis, DelaysLoadsUntilJobWithoutFreeFramesEnds) {
  EXPECT_EQ(load_delay(40, 3, 2, 5, 3), 0);
  EXPECT_EQ(load_delay(40, 3, 3, 5, 3), 40 - 3 * 2);
  EXPECT_EQ(load_delay(5, 3, 3, 5, 3), 0);
  EXPECT_EQ(load_delay(40, 3, 3, 3, 3), 40);
  EXPECT_EQ(load_delay(40, 0, 3, 3, 3), 0);
  // An execution that delays all loads hides no load.
  for (const Overlap& overlap : overlaps({{40, 10, 40}, {6, 4, 0}}, {})) EXPECT_GE(overlap.tasks[0].cost, 50);
}

} // namespace
} // namespace rtexec::policies
