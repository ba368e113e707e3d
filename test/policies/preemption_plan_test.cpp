// Tests plans of sets whose jobs are preempted on the device: when they are cut, into which segments, and with which
// memory.
#include "policies/bounds/charges.hpp"
#include "test/policies/plan_sets.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace rtexec::policies {
namespace {

using namespace std::chrono_literals;
using test::task_of;
using testing::HasSubstr;

constexpr Nanos ms = 1'000'000;
constexpr Bytes chunk{4096};

/// Returns a device part of equal layers. A chunk is live across each boundary.
LayeredTask layered_task(Duration wcet, std::uint32_t layers, Bytes live = chunk) {
  LayeredTask task;
  task.layers.times.assign(layers, wcet.count() / layers);
  task.layers.overheads.assign(layers - 1, 0);
  if (layers > 1) task.layers.tensors = {{live, 0, layers - 1}};
  return task;
}

/// A short task together with two that take longer than its period.
struct Mixed {
  TaskSet tasks;
  Board board = test::board_of();
  std::vector<MemoryDemand> memory = std::vector<MemoryDemand>(3);
  std::vector<LayeredTask> layered;

  explicit Mixed(Order order = Order::edf) {
    const auto add = [&](std::string name, Duration period, Duration wcet, std::uint32_t layers) {
      tasks.tasks.push_back(
          task_of(std::move(name), period, {0ns, wcet, 0ns}, static_cast<unsigned>(tasks.tasks.size())));
      layered.push_back(layered_task(wcet, layers));
    };
    add("front", 20ms, 5ms, 1);
    add("slow", 1000ms, 240ms, 24);
    add("slower", 2000ms, 200ms, 20);
    tasks.executive.order = order;
    board.compute_core = 9;
    board.service_core = 8;
    board.dispatch = 10us;
  }
  Result<Plan> plan() const { return make_plan(test::resolved(tasks, board), memory, layered); }
  Result<Plan> whole() const { return make_plan(test::resolved(tasks, board), memory); }
};

class PreemptionPlans : public testing::TestWithParam<Order> {};

TEST_P(PreemptionPlans, CutJobsWhenWholeJobsAreNotProved) {
  const Mixed mixed(GetParam());
  EXPECT_FALSE(mixed.whole()->proved);
  const auto plan = mixed.plan();
  ASSERT_TRUE(plan);
  EXPECT_TRUE(plan->proved) << plan->end_to_end.explanation;
  EXPECT_EQ(plan->device_test.test, AdmissionTest::segmented);
  EXPECT_EQ(plan->tasks[0].device_class, 0u);
  EXPECT_EQ(plan->tasks[0].segments, 1u);
  for (const std::size_t slow : {1U, 2U}) {
    const PlannedTask& task = plan->tasks[slow];
    ASSERT_GT(task.segments, 1u);
    ASSERT_EQ(task.cuts.size() + 1, task.segments);
    ASSERT_EQ(task.segment_wcets.size(), task.segments);
    EXPECT_LE(std::ranges::max(task.segment_wcets), 15ms) << "of 20 ms front needs 5";
    EXPECT_EQ(std::accumulate(task.segment_wcets.begin(), task.segment_wcets.end(), Duration(0)), task.wcet.device);
    EXPECT_EQ(task.memory.carry, chunk);
  }
  for (const PlannedTask& task : plan->tasks) EXPECT_LE(*task.response_bound, task.done_by);
}

TEST_P(PreemptionPlans, LeaveJobsWholeWhenThatIsProved) {
  Mixed mixed(GetParam());
  mixed.tasks.tasks[0].period = mixed.tasks.tasks[0].deadline = 900ms;
  const auto plan = mixed.plan();
  ASSERT_TRUE(plan);
  EXPECT_TRUE(plan->proved);
  EXPECT_FALSE(plan->preempts());
}

TEST_P(PreemptionPlans, KeepGivenClassesAndCuts) {
  Mixed mixed(GetParam());
  mixed.layered[1].device_class = 1;
  mixed.layered[2].device_class = 2;
  mixed.layered[1].given = cut_into(mixed.layered[1].layers, 24, 0).segmentations.front();
  const auto plan = mixed.plan();
  ASSERT_TRUE(plan);
  EXPECT_TRUE(plan->proved) << plan->end_to_end.explanation;
  EXPECT_EQ(plan->tasks[1].device_class, 1u);
  EXPECT_EQ(plan->tasks[2].device_class, 2u);
  EXPECT_EQ(plan->tasks[1].segments, 24u);
}

INSTANTIATE_TEST_SUITE_P(Orders, PreemptionPlans, testing::Values(Order::edf, Order::static_priority),
                         [](const auto& each) { return each.param == Order::edf ? "edf" : "static_priority"; });

/// Resuming after each segment takes time, except for segments launched ahead.
TEST_P(PreemptionPlans, KeepGivenClassesAndSegmentsOfMoreThan64Tasks) {
  Mixed mixed(GetParam());
  for (unsigned i = 0; i < 70; ++i) {
    mixed.tasks.tasks.push_back(task_of("rare" + std::to_string(i), 2000ms, {0ns, 500us, 0ns}, i % 8));
    mixed.layered.push_back(layered_task(500us, 1));
  }
  mixed.memory.resize(mixed.tasks.tasks.size());
  EXPECT_FALSE(mixed.plan()->proved) << "nothing is given, and nothing searched";
  mixed.layered[0].device_class = 0;
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    mixed.layered[i].device_class = 1;
    mixed.layered[i].given = cut_into(mixed.layered[i].layers, 24, 0).segmentations.front();
  }
  const auto plan = mixed.plan();
  ASSERT_TRUE(plan) << plan.error().what;
  EXPECT_TRUE(plan->proved) << plan->end_to_end.explanation;
  EXPECT_EQ(plan->tasks[0].device_class, 0U);
  EXPECT_EQ(plan->tasks[2].segments, 20U);
}

TEST(PreemptionPlan, LaunchesAheadWhenThatTakesLessDeviceTime) {
  Mixed mixed;
  mixed.layered[1] = layered_task(240ms, 96);
  mixed.layered[2] = layered_task(200ms, 80);
  EXPECT_EQ(mixed.plan()->launch_ahead, 0u);
  mixed.board.dispatch = 400us;
  mixed.board.cut = 10us;
  const auto ahead = mixed.plan();
  ASSERT_TRUE(ahead && ahead->proved);
  EXPECT_EQ(ahead->launch_ahead, 1u);
  mixed.tasks.device.launch_ahead = 0;
  const auto forbidden = mixed.plan();
  ASSERT_TRUE(forbidden && forbidden->proved);
  EXPECT_EQ(forbidden->launch_ahead, 0u);
  const auto cuts = [&](const Plan& plan) { return share_of_cuts(plan, test::resolved(mixed.tasks, mixed.board)); };
  EXPECT_LT(cuts(*ahead) + 0.01, cuts(*forbidden));
  mixed.board.cut.reset();
  EXPECT_EQ(between_segments(mixed.board, true), 400'000) << "as dispatch";
  mixed.tasks.device.launch_ahead = 2;
  EXPECT_EQ(mixed.plan()->launch_ahead, 2u);
}

/// The less urgent task's class goes first. Its requests are counted with the jitter of its CPU part.
TEST(PreemptionPlan, AllowsClassesAgainstStaticPriorities) {
  Mixed mixed(Order::static_priority);
  mixed.tasks.tasks[0].wcet = Wcet{0ns, 1ms, 0ns};
  mixed.tasks.tasks[0].deadline = mixed.tasks.tasks[0].period = 400ms;
  mixed.tasks.tasks[1].wcet->device = 40ms;
  mixed.tasks.tasks[1].wcet->before = 100ms;
  mixed.layered[0] = layered_task(1ms, 1);
  mixed.layered[1] = layered_task(40ms, 24);
  mixed.layered[0].device_class = 2;
  mixed.layered[1].device_class = 1;
  mixed.layered[2].device_class = 3;
  mixed.tasks.tasks[1].period = mixed.tasks.tasks[1].deadline = 500ms;
  const auto plan = mixed.plan();
  ASSERT_TRUE(plan);
  ASSERT_TRUE(plan->proved) << plan->end_to_end.explanation;
  // Two requests of "slow" can come within its deadline less its time after them.
  EXPECT_GE(*plan->tasks[0].response_bound, 80ms);
}

/// Tasks of two levels keep the memory live between segments apart; tasks of one level share it.
TEST(PreemptionPlan, SharesLiveStateAmongTasksOfOneLevel) {
  Mixed mixed;
  for (LayeredTask& each : mixed.layered) each.device_class = 1;
  mixed.layered[0].device_class = 0;
  for (const std::size_t slow : {1U, 2U})
    mixed.layered[slow].given = cut_into(mixed.layered[slow].layers, 20, 0).segmentations.front();
  const auto one = mixed.plan();
  ASSERT_TRUE(one);
  EXPECT_EQ(one->demand, chunk);
  mixed.layered[2].device_class = 2;
  const auto two = mixed.plan();
  ASSERT_TRUE(two);
  EXPECT_EQ(two->demand, chunk * 2);
}

/// The memory live between segments leaves less for the rest: other tasks swap more.
TEST(PreemptionPlan, SwapsMoreToMakeRoomForLiveState) {
  Mixed mixed;
  mixed.board.capacity = chunk * 20;
  mixed.board.swap_costs = {{.chunk = chunk, .in_per_chunk = 1ms, .out_per_chunk = 1ms, .drop_per_chunk = 0ns}};
  mixed.memory[1].constant = mixed.memory[2].constant = chunk * 10;
  const auto plan = mixed.plan();
  ASSERT_TRUE(plan) << plan.error().what;
  EXPECT_TRUE(plan->proved) << plan->end_to_end.explanation;
  ASSERT_TRUE(plan->swap);
  EXPECT_GT(plan->demand, plan->capacity);
  std::size_t slots = 0;
  for (const PlannedTask& task : plan->tasks) slots += task.swap_slots.size();
  EXPECT_EQ(plan->swap->frames, slots - (plan->demand - plan->capacity).count / chunk.count);
}

TEST(PreemptionPlan, ReportsTimeTakenByMoreUrgentClasses) {
  Mixed mixed;
  mixed.tasks.tasks[1].deadline = 300ms; // front takes a quarter of it
  const auto plan = mixed.plan();
  ASSERT_TRUE(plan);
  EXPECT_FALSE(plan->proved);
  for (unsigned i : {0U, 1U, 2U}) {
    mixed.layered[i].device_class = i;
    mixed.layered[i].given = cut_into(mixed.layered[i].layers, 24, 0).segmentations.front();
  }
  EXPECT_THAT(mixed.plan()->end_to_end.explanation, HasSubstr("more urgent classes take"));
}

} // namespace
} // namespace rtexec::policies
