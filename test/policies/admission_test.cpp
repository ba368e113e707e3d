#include "policies/admission/admission.hpp"
#include "test/policies/plan_sets.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rtexec::policies {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using test::board_of;
using test::set_of;
using test::task_of;
using test::test_named;
using test::times_of;
using testing::ElementsAre;
using testing::HasSubstr;

Result<Plan> plan_of(const TaskSet& set, const Board& board = board_of()) {
  return make_plan(test::resolved(set, board), std::vector<MemoryDemand>(set.tasks.size()));
}

std::vector<std::string> names(const Plan& plan) {
  std::vector<std::string> list;
  for (const TestVerdict& test : plan.tests()) list.push_back(test.name());
  return list;
}

std::string why(const Result<Plan>& plan) { return plan ? std::string() : plan.error().what; }

constexpr Wcet device_only(Duration wcet) { return {Duration(0), wcet, Duration(0)}; }

// ---- priorities ----

std::vector<unsigned> core_ranks(const Plan& plan) {
  std::vector<unsigned> ranks;
  for (const PlannedTask& task : plan.tasks) ranks.push_back(task.core_rank);
  return ranks;
}
std::vector<unsigned> device_ranks(const Plan& plan) {
  std::vector<unsigned> ranks;
  for (const PlannedTask& task : plan.tasks) ranks.push_back(task.device_rank);
  return ranks;
}

class Priorities : public testing::Test {
 protected:
  Priorities() {
    set.tasks = {task_of("slow", milliseconds(90), {}), task_of("background", milliseconds(10), {}),
                 task_of("quick", milliseconds(30), {}), task_of("twin", milliseconds(30), {})};
    set.tasks[0].deadline = milliseconds(20);
    set.tasks[0].priority = 5;
    set.tasks[2].priority = 7;
    set.tasks[3].priority = 9;
    set.tasks[1].criticality = Criticality::best_effort;
  }
  Plan plan(Order order, PriorityAssignment priorities) {
    set.executive.order = order;
    set.executive.priorities = priorities;
    return plan_of(set).value();
  }
  TaskSet set;
};

TEST_F(Priorities, RateMonotonicBreaksTiesByIndexAndPutsBestEffortLast) {
  EXPECT_THAT(core_ranks(plan(Order::edf, PriorityAssignment::rate_monotonic)), ElementsAre(2, 3, 0, 1));
}
TEST_F(Priorities, DeadlineMonotonicRanksShorterDeadlinesFirst) {
  EXPECT_THAT(core_ranks(plan(Order::edf, PriorityAssignment::deadline_monotonic)), ElementsAre(0, 3, 1, 2));
}
TEST_F(Priorities, ExplicitRanksFollowGivenPriorities) {
  EXPECT_THAT(core_ranks(plan(Order::edf, PriorityAssignment::explicit_priorities)), ElementsAre(2, 3, 1, 0));
}
TEST_F(Priorities, DeviceRanksFollowSchedulingOrder) {
  EXPECT_THAT(device_ranks(plan(Order::edf, PriorityAssignment::rate_monotonic)), ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(device_ranks(plan(Order::static_priority, PriorityAssignment::rate_monotonic)), ElementsAre(2, 3, 0, 1));
}
TEST_F(Priorities, ExplicitAssignmentIsRejectedWhenTaskHasNoPriority) {
  set.tasks[2].priority.reset();
  set.executive.priorities = PriorityAssignment::explicit_priorities;
  EXPECT_THAT(why(plan_of(set)), HasSubstr("task 'quick': it has no priority"));
}

// ---- tests ----

/// Two tasks with periods of 1 ms and four minutes. No interval longer than the device's longest busy period matters.
TEST(Demand, ProvesSetWhenPeriodsDifferByOrdersOfMagnitude) {
  const TaskSet set = set_of({task_of("often", milliseconds(1), device_only(microseconds(100)), 0),
                              task_of("rare", std::chrono::minutes(4), device_only(microseconds(500)), 1)});
  const Plan plan = plan_of(set).value();
  EXPECT_TRUE(plan.proved) << plan.end_to_end.explanation;
  const Duration core_parts(2); // a nanosecond each
  EXPECT_EQ(plan.tasks[0].response_bound, microseconds(600) + core_parts);
  EXPECT_EQ(plan.tasks[1].response_bound, microseconds(600) + core_parts);
}

/// The device is busy for 2 x 2.5 + 2 ms and 2 ms more. Task "often" is released every 10 ms and requests the device up
/// to 4 ms later.
TEST(Demand, BusyPeriodIncludesJobsReleasedBeforeIt) {
  const Wcet wcet{milliseconds(1), microseconds(2500), milliseconds(1)};
  const TaskSet set = set_of({task_of("often", milliseconds(10), {milliseconds(4), milliseconds(2), {}}, 0),
                              task_of("rare", milliseconds(500), wcet, 1), task_of("too", milliseconds(500), wcet, 2)});
  const Plan plan = plan_of(set).value();
  EXPECT_TRUE(plan.proved) << plan.end_to_end.explanation;
  for (const std::size_t rare : {1U, 2U}) EXPECT_EQ(plan.tasks[rare].response_bound, milliseconds(1 + 5 + 2 * 2 + 1));
}

class AdmissionPerOrder : public testing::TestWithParam<Order> {
 protected:
  static std::string device_test() { return GetParam() == Order::edf ? "demand" : "rta"; }
};
INSTANTIATE_TEST_SUITE_P(Admission, AdmissionPerOrder, testing::Values(Order::edf, Order::static_priority));

TEST_P(AdmissionPerOrder, ProvesEmptyTaskSet) {
  const Plan plan = plan_of(set_of({}, GetParam())).value();
  EXPECT_TRUE(plan.proved);
  EXPECT_THAT(names(plan), ElementsAre(device_test(), "end-to-end"));
}

TEST_P(AdmissionPerOrder, BoundsSingleTaskBySumOfItsParts) {
  const Plan plan =
      plan_of(set_of({task_of("only", milliseconds(10), {milliseconds(1), milliseconds(6), milliseconds(2)}, 3)},
                     GetParam()))
          .value();
  EXPECT_TRUE(plan.proved);
  EXPECT_THAT(names(plan), ElementsAre(device_test(), "core 3", "end-to-end"));
  EXPECT_TRUE(plan.tasks[0].promised);
  EXPECT_EQ(plan.tasks[0].response_bound, milliseconds(9));
  EXPECT_EQ(test_named(plan, "end-to-end").slack, milliseconds(1));
  EXPECT_EQ(times_of(test_named(plan, "core 3")).left, milliseconds(3));
  EXPECT_EQ(plan.tasks[0].done_by, milliseconds(10));
}

TEST_P(AdmissionPerOrder, ChargesBoardOverheadsToEveryPart) {
  Board board = board_of();
  board.context_switch = microseconds(10);
  board.dispatch = microseconds(100);
  board.release_latency = microseconds(1000);
  const Plan plan =
      plan_of(
          set_of({task_of("only", milliseconds(20), {milliseconds(1), milliseconds(6), milliseconds(2)})}, GetParam()),
          board)
          .value();
  EXPECT_EQ(plan.tasks[0].response_bound, microseconds(1000 + (1000 + 20) + (6000 + 200) + (2000 + 20)));
}

TEST_P(AdmissionPerOrder, BoundsDeviceOnlyTasksByDeviceTimesAlone) {
  const Plan plan = plan_of(set_of({task_of("a", milliseconds(10), device_only(milliseconds(2))),
                                    task_of("b", milliseconds(20), device_only(milliseconds(7)), 1)},
                                   GetParam()))
                        .value();
  EXPECT_TRUE(plan.proved);
  // Task a waits for task b once. A handover costs a nanosecond.
  EXPECT_LE(*plan.tasks[0].response_bound - milliseconds(9), Duration(4));
  EXPECT_LE(*plan.tasks[1].response_bound - milliseconds(GetParam() == Order::edf ? 20 : 9), Duration(8));
}

TEST_P(AdmissionPerOrder, NamesBlockingTaskWhenDeviceTestFails) {
  const Plan plan = plan_of(set_of({task_of("quick", milliseconds(10), device_only(milliseconds(2))),
                                    task_of("long", milliseconds(100), device_only(milliseconds(9)), 1)},
                                   GetParam()))
                        .value();
  EXPECT_FALSE(plan.proved);
  const TestVerdict verdict = test_named(plan, device_test());
  EXPECT_FALSE(verdict.proved);
  EXPECT_EQ(verdict.limiting_task, "quick");
  EXPECT_EQ(verdict.slack, times_of(verdict).right - times_of(verdict).left);
  EXPECT_LT(verdict.slack, Duration(0));
  EXPECT_THAT(verdict.explanation, HasSubstr("'long'"));
  EXPECT_THAT(verdict.explanation, HasSubstr("9ms"));
  EXPECT_FALSE(verdict.inequality.empty());
  EXPECT_FALSE(plan.tasks[0].promised);
  EXPECT_FALSE(plan.tasks[0].response_bound);
}

TEST_P(AdmissionPerOrder, RejectsOverloadedDeviceWithReason) {
  for (const auto wcet : {milliseconds(5), milliseconds(7), milliseconds(400)}) {
    const Plan plan = plan_of(set_of({task_of("a", milliseconds(10), device_only(milliseconds(5))),
                                      task_of("b", milliseconds(10), device_only(wcet), 1)},
                                     GetParam()))
                          .value();
    EXPECT_FALSE(plan.proved);
    for (const auto& name : {device_test(), std::string("end-to-end")}) {
      const TestVerdict verdict = test_named(plan, name);
      EXPECT_FALSE(verdict.proved);
      EXPECT_EQ(times_of(verdict).left, Duration(std::chrono::seconds(1)) * (5 + wcet.count()) / 10);
      EXPECT_EQ(times_of(verdict).right, std::chrono::seconds(1) - Duration(1));
      EXPECT_EQ(verdict.limiting_task, "b");
      EXPECT_THAT(verdict.inequality, HasSubstr("< 1"));
    }
    EXPECT_LE(plan.tasks[1].ready_by, plan.tasks[1].device_done_by);
    EXPECT_LE(plan.tasks[1].device_done_by, plan.tasks[1].done_by);
  }
}

TEST_P(AdmissionPerOrder, RejectsOverloadedCore) {
  const Plan plan = plan_of(set_of({task_of("a", milliseconds(10), {milliseconds(4), microseconds(1), milliseconds(3)}),
                                    task_of("b", milliseconds(10), {milliseconds(4), microseconds(1), Duration(0)}),
                                    task_of("c", milliseconds(10), {milliseconds(4), microseconds(1), Duration(0)}, 1)},
                                   GetParam()))
                        .value();
  EXPECT_FALSE(plan.proved);
  EXPECT_TRUE(test_named(plan, device_test()).name().size() > 0);
  EXPECT_FALSE(test_named(plan, "core 0").proved);
  EXPECT_THAT(test_named(plan, "core 0").explanation, HasSubstr("each second of the core 0"));
  EXPECT_TRUE(test_named(plan, "core 1").proved);
  EXPECT_FALSE(test_named(plan, "end-to-end").proved);
}

TEST_P(AdmissionPerOrder, RejectsWcetBeyondDeadline) {
  Task task = task_of("late", milliseconds(100), device_only(milliseconds(30)));
  task.deadline = milliseconds(20);
  const Plan plan = plan_of(set_of({task}, GetParam())).value();
  EXPECT_FALSE(plan.proved);
  EXPECT_GE(times_of(test_named(plan, "end-to-end")).left, milliseconds(30));
  EXPECT_EQ(times_of(test_named(plan, "end-to-end")).right, milliseconds(20));
}

TEST_P(AdmissionPerOrder, ChargesBlockingByBestEffortTasksButPromisesThemNothing) {
  Task background = task_of("background", milliseconds(1), {milliseconds(50), milliseconds(5), milliseconds(50)});
  background.criticality = Criticality::best_effort;
  const Task front = task_of("front", milliseconds(10), device_only(milliseconds(4)));
  const Plan kept = plan_of(set_of({background, front}, GetParam())).value();
  EXPECT_TRUE(kept.proved);
  EXPECT_FALSE(kept.tasks[0].promised);
  EXPECT_FALSE(kept.tasks[0].response_bound);
  EXPECT_EQ(*kept.tasks[1].response_bound - milliseconds(9), Duration(2));

  background.wcet->device = milliseconds(7);
  const Plan blocked = plan_of(set_of({background, front}, GetParam())).value();
  EXPECT_FALSE(blocked.proved);
  EXPECT_THAT(test_named(blocked, device_test()).explanation, HasSubstr("'background'"));
}

TEST_P(AdmissionPerOrder, RejectsCpuPartsOnComputeCore) {
  Board board = board_of();
  board.compute_core = 1;
  const TaskSet set = set_of({task_of("a", milliseconds(10), device_only(milliseconds(1)), 1)}, GetParam());
  const Plan plan = plan_of(set, board).value();
  EXPECT_FALSE(plan.proved);
  EXPECT_FALSE(plan.tasks[0].promised);
  EXPECT_THAT(test_named(plan, "core 1").explanation, HasSubstr("pin them to another core"));
  EXPECT_THAT(test_named(plan, "end-to-end").explanation, HasSubstr("'a'"));
  board.device = DeviceKind::cuda; // its thread waits for the GPU there, above all tasks
  EXPECT_FALSE(plan_of(set, board)->proved);
  board.compute_core = 2;
  EXPECT_TRUE(plan_of(set, board)->proved);
}

TEST_P(AdmissionPerOrder, ChargesEnginePausesWhenExecutionExceedsReservation) {
  Board board = board_of();
  board.compute_core = 2;
  board.service_core = 3;
  TaskSet set;
  const auto bound = [&](DeviceKind kind, Completion completion, Duration execution) {
    set = set_of({task_of("a", milliseconds(200), {milliseconds(1), execution, milliseconds(1)})}, GetParam());
    set.executive.threads = ThreadPolicy::deadline;
    board.device = kind;
    set.device.completion = completion;
    return *plan_of(set, board)->tasks[0].response_bound;
  };
  const Duration host = bound(DeviceKind::host, Completion::block, milliseconds(60));
  EXPECT_EQ(bound(DeviceKind::cuda, Completion::spin, milliseconds(60)), host);
  EXPECT_LT(bound(DeviceKind::cuda, Completion::block, milliseconds(60)) + milliseconds(2), host);
  EXPECT_EQ(bound(DeviceKind::cuda, Completion::block, milliseconds(20)),
            bound(DeviceKind::host, Completion::block, milliseconds(20)));
  board.service_core = 2;
  EXPECT_THAT(why(plan_of(set, board)), HasSubstr("give the scheduler another service_core"));
}

TEST_P(AdmissionPerOrder, AnalysesLongTimesWithoutOverflow) {
  const Duration days = hours(24 * 200);
  const Plan plan = plan_of(set_of({task_of("long", days, {days / 100, days / 2, days / 100}),
                                    task_of("two", 2 * days, {days / 100, days / 3, Duration(1)}, 1),
                                    task_of("tick", milliseconds(1), {Duration(1), Duration(1), Duration(1)}, 2)},
                                   GetParam()))
                        .value();
  EXPECT_FALSE(plan.proved); // the long job blocks the tick
  const Plan without = plan_of(set_of({task_of("long", days, {days / 100, days / 2, days / 100}),
                                       task_of("two", 2 * days, {days / 100, days / 3, Duration(1)}, 1)},
                                      GetParam()))
                           .value();
  EXPECT_TRUE(without.proved) << test_named(without, "end-to-end").explanation;
}

TEST_P(AdmissionPerOrder, RejectsLargestTimesWithoutOverflow) {
  std::vector<Task> tasks;
  for (int i = 0; i < 1024; ++i) {
    const Duration longest{std::int64_t{1} << 55};
    tasks.push_back(task_of("t" + std::to_string(i), i % 2 == 0 ? Duration(1) : longest, {longest, longest, longest},
                            static_cast<unsigned>(i % 3)));
  }
  Board board = board_of();
  board.context_switch = board.dispatch = board.release_latency = Duration(std::int64_t{1} << 55);
  const Plan plan = plan_of(set_of(std::move(tasks), GetParam()), board).value();
  EXPECT_FALSE(plan.proved);
  for (const TestVerdict& test : plan.tests()) EXPECT_FALSE(test.proved) << test.name();
}

/// 1 - U is below 1e-12, so too many instants must be examined. The test says so in reasonable time.
TEST_P(AdmissionPerOrder, RejectsAlmostFullUtilisationWithoutLongSearch) {
  const Duration second = std::chrono::seconds(1);
  const Plan plan = plan_of(set_of({task_of("a", second, device_only(second / 2)),
                                    task_of("b", second - Duration(1), device_only(second / 2 - Duration(1)), 1),
                                    task_of("c", 10 * second + Duration(7), device_only(Duration(1)), 2)},
                                   GetParam()))
                        .value();
  EXPECT_FALSE(plan.proved);
}

TEST(Admission, PromisesStaticPriorityTasksAboveFirstFailure) {
  const Plan plan = plan_of(set_of({task_of("low", milliseconds(100), device_only(milliseconds(95)), 1),
                                    task_of("high", milliseconds(200), device_only(milliseconds(1)))},
                                   Order::static_priority))
                        .value();
  EXPECT_TRUE(plan.proved);
  TaskSet set = set_of({task_of("low", milliseconds(100), device_only(milliseconds(95)), 1),
                        task_of("high", milliseconds(200), device_only(milliseconds(20)))},
                       Order::static_priority);
  set.executive.priorities = PriorityAssignment::explicit_priorities;
  set.tasks[0].priority = 1;
  set.tasks[1].priority = 2;
  const Plan partly = plan_of(set).value();
  EXPECT_FALSE(partly.proved);
  EXPECT_TRUE(partly.tasks[1].promised);
  EXPECT_FALSE(partly.tasks[0].promised);
}

TEST(Admission, EndToEndTestImpliesAllOtherTests) {
  int proved = 0;
  for (int i = 0; i < 3000; ++i) {
    std::vector<Task> tasks;
    unsigned seed = static_cast<unsigned>(i) * 7919u + 13u;
    const auto draw = [&](int low, int high) {
      return low + static_cast<int>((seed = seed * 1664525u + 1013904223u) >> 8) % (high - low + 1);
    };
    for (int k = draw(1, 5); k > 0; --k) {
      const int period = draw(20, 200);
      tasks.push_back(
          task_of("t" + std::to_string(k), Duration(period),
                  {Duration(draw(0, period / 10)), Duration(draw(1, period / 4)), Duration(draw(0, period / 10))},
                  static_cast<unsigned>(draw(0, 1))));
      tasks.back().deadline = Duration(draw(period / 2, period));
    }
    const Plan plan = plan_of(set_of(std::move(tasks), i % 2 == 0 ? Order::edf : Order::static_priority)).value();
    ASSERT_EQ(plan.proved, plan.end_to_end.proved);
    for (const TestVerdict& test : plan.tests()) {
      ASSERT_EQ(test.proved, test.sides().left <= test.sides().right) << test.name() << ": " << test.explanation;
      ASSERT_EQ(test.slack.count(), test.sides().right - test.sides().left);
      if (plan.proved) { ASSERT_TRUE(test.proved) << test.name() << ": " << test.explanation; }
    }
    for (const PlannedTask& task : plan.tasks) {
      ASSERT_LE(Duration(0), task.ready_by);
      ASSERT_LE(task.ready_by, task.device_done_by);
      ASSERT_LE(task.device_done_by, task.done_by);
      ASSERT_EQ(task.promised, task.response_bound.has_value());
      if (task.promised) { ASSERT_LE(*task.response_bound, task.done_by); }
      if (plan.proved) { ASSERT_TRUE(task.promised); }
    }
    proved += plan.proved;
  }
  EXPECT_GT(proved, 300);
}

// ---- input ----

TEST(Admission, ReportsAllInvalidTasksAtOnce) {
  TaskSet set = set_of({task_of("a", milliseconds(10), {}), task_of("b", Duration(0), {}),
                        task_of("c", milliseconds(10), {Duration(-1), {}, {}})});
  set.tasks[0].wcet.reset();
  const auto plan = plan_of(set);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, Errc::bad_input);
  EXPECT_THAT(plan.error().what, HasSubstr("task 'a': it has no wcet"));
  EXPECT_THAT(plan.error().what, HasSubstr("task 'b': 0 < deadline"));
  EXPECT_THAT(plan.error().what, HasSubstr("task 'c': its wcet"));
}

TEST(Admission, RejectsInputWithoutMemoryDemandOfEveryTask) {
  const TaskSet set = set_of({task_of("a", milliseconds(10), {})});
  EXPECT_THAT(why(make_plan(test::resolved(set, board_of()), {})), HasSubstr("0 tasks"));
}

// ---- device memory ----

class DeviceMemoryAdmission : public testing::Test {
 protected:
  DeviceMemoryAdmission() { set.tasks = {task_of("a", milliseconds(10), {}), task_of("b", milliseconds(10), {})}; }
  static constexpr std::uint64_t chunk = 4096;
  TaskSet set;
  Board board = board_of();
  std::vector<MemoryDemand> memory{{.constant = {chunk + 1}, .scratch = {10 * chunk}, .state = {1}},
                                   {.constant = {chunk}, .scratch = {3 * chunk + 5}, .state = {0}}};
};

TEST_F(DeviceMemoryAdmission, SharesScratchAndRoundsUpToWholeChunks) {
  const Plan plan = make_plan(test::resolved(set, board), memory).value();
  EXPECT_EQ(plan.demand.count, chunk * (2 + 1 + 1 + 10));
  EXPECT_EQ(plan.separate.count, chunk * (2 + 10 + 1 + 1 + 4));
  EXPECT_EQ(plan.chunk.count, chunk);
  EXPECT_EQ(plan.capacity, board.capacity);
  EXPECT_EQ(plan.tasks[0].memory.constant.count, chunk + 1);
  EXPECT_EQ(plan.tasks[1].memory_policy, MemoryPolicy::device);
}

TEST_F(DeviceMemoryAdmission, TakesCapacityAndChunkFromTaskSet) {
  set.device.chunk = Bytes{1000};
  set.device.capacity = Bytes{99'999};
  const Plan plan = make_plan(test::resolved(set, board), memory).value();
  EXPECT_EQ(plan.chunk.count, 1000u);
  EXPECT_EQ(plan.capacity.count, 99'000u);
}

TEST_F(DeviceMemoryAdmission, RequiresCapacityInTaskSetWhenBoardHasNone) {
  board.capacity = Bytes{0};
  EXPECT_EQ(make_plan(test::resolved(set, board), memory).error().code, Errc::bad_input);
  EXPECT_THAT(why(make_plan(test::resolved(set, board), memory)), HasSubstr("give [device] capacity"));
  set.device.capacity = Bytes{100 * chunk};
  EXPECT_EQ(make_plan(test::resolved(set, board), memory)->capacity, Bytes{100 * chunk});
}

TEST_F(DeviceMemoryAdmission, RejectsDemandBeyondCapacity) {
  set.swap.policy = SwapPolicy::none;
  set.device.capacity = Bytes{13 * chunk};
  const auto plan = make_plan(test::resolved(set, board), memory);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, Errc::not_proved);
  set.device.capacity = Bytes{14 * chunk};
  EXPECT_TRUE(make_plan(test::resolved(set, board), memory));
  memory[0].state = memory[1].constant = Bytes{~std::uint64_t{0}};
  EXPECT_FALSE(make_plan(test::resolved(set, board), memory));
}

TEST_F(DeviceMemoryAdmission, RejectsCapacityAndMemoryPolicyThatBoardLacks) {
  set.device.capacity = board.capacity + Bytes{1};
  EXPECT_EQ(make_plan(test::resolved(set, board), memory).error().code, Errc::bad_input);
  set.device.capacity.reset();
  set.tasks[1].memory_policy = MemoryPolicy::managed;
  EXPECT_THAT(why(make_plan(test::resolved(set, board), memory)),
              HasSubstr("task 'b': memory_policy = \"M\": board 'host' does not have it; give D"));
  set.tasks[1].memory_policy = MemoryPolicy::automatic;
  board.memory_policies = {MemoryPolicy::managed, MemoryPolicy::host};
  EXPECT_THAT(why(make_plan(test::resolved(set, board), memory)),
              HasSubstr("task 'b': memory_policy = \"auto\" stays D if no policy was chosen: board 'host' does not "
                        "have it; give M or H"));
  board.memory_policies = {MemoryPolicy::device};
  set.device.chunk = Bytes{0};
  EXPECT_EQ(make_plan(test::resolved(set, board), memory).error().code, Errc::bad_input);
}

} // namespace
} // namespace rtexec::policies
