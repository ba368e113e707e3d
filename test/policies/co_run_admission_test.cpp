// Tests the charges of admission for jobs that execute concurrently, its refusals, and how much memory it plans.
#include "policies/scheduler/co_run.hpp"
#include "policies/admission/sensitivity.hpp"
#include "test/policies/plan_sets.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rtexec::policies {
namespace {

using namespace std::chrono_literals;
using test::board_of;
using test::set_of;
using test::task_of;
using testing::HasSubstr;

Task co_running(const std::string& name, Duration period, Duration device, Duration co_running, MemoryPolicy policy,
                std::optional<Duration> idle = {}) {
  Task task = task_of(name, period, {.device = device});
  task.memory_policy = policy;
  task.co_run_wcet = co_running;
  task.mapping_idle = idle;
  return task;
}

/// A job of a, under M, and a job of b, under D, may execute concurrently.
struct Pair {
  TaskSet set = set_of({co_running("a", 100ms, 20ms, 30ms, MemoryPolicy::managed, 10ms),
                        co_running("b", 200ms, 5ms, 10ms, MemoryPolicy::device)},
                       Order::static_priority);
  Board board = board_of();
  std::vector<MemoryDemand> memory{{.scratch = Bytes{4096 * 6}, .fixed = Bytes{4096}},
                                   {.scratch = Bytes{4096 * 2}, .fixed = Bytes{4096}}};

  Pair() {
    set.device.co_run = true;
    board.memory_policies = {MemoryPolicy::device, MemoryPolicy::managed, MemoryPolicy::host};
  }
  [[nodiscard]] Plan plan() const { return make_plan(test::resolved(set, board), memory).value(); }
};

TEST(CoRunAdmission, ChargesCoRunningWcetOfPairedTasks) {
  const Plan plan = Pair().plan();
  EXPECT_TRUE(plan.proved);
  EXPECT_EQ(plan.tasks[0].response_bound, 40ms + 2ns) << "30 ms of its own, 10 ms of b that began before, its core";
  EXPECT_EQ(plan.tasks[1].response_bound, 40ms + 4ns);
  EXPECT_EQ(plan.tasks[0].wcet.device, 20ms) << "what it takes alone stays what it is";
  EXPECT_THAT(plan.end_to_end.inequality + plan.device_test.inequality,
              HasSubstr("the longer of wcet and co_run_wcet"));
}

TEST(CoRunAdmission, KeepsPairsWhenSensitivityScalesWcets) {
  const Pair pair;
  const Sensitivity room = sensitivity(test::resolved(pair.set, pair.board), pair.plan());
  ASSERT_TRUE(room.wcet && room.wcet->proved);
  EXPECT_NEAR(room.wcet->proved->value(), 2.5, 0.01) << "40 ms of 100 ms, and not the 25 ms without pairs";
}

TEST(CoRunAdmission, ChargesNothingWhenNoPartnerFits) {
  Pair pair;
  pair.set.tasks[0].mapping_idle = 9ms;
  const Plan plan = pair.plan();
  EXPECT_FALSE(plan.co_runs());
  EXPECT_EQ(plan.tasks[0].response_bound, 25ms + 2ns);
  EXPECT_THAT(plan.device_test.inequality, testing::Not(HasSubstr("co_run_wcet")));
}

TEST(CoRunAdmission, ChargesNothingWhenCoRunIsDisabled) {
  Pair pair;
  pair.set.device.co_run = false;
  EXPECT_EQ(pair.plan().tasks[0].response_bound, 25ms + 2ns);
}

TEST(CoRunAdmission, ReservesScratchForBothJobsOfAPair) {
  Pair pair;
  EXPECT_EQ(pair.plan().scratch_chunks, 8U);
  EXPECT_EQ(pair.plan().demand, Bytes{4096} * 10);
  pair.set.device.co_run = false;
  EXPECT_EQ(pair.plan().scratch_chunks, 6U);
  EXPECT_EQ(pair.plan().demand, Bytes{4096} * 8);
}

TEST(CoRunAdmission, SharesPairScratchWithJobsThatExecuteAlone) {
  Pair pair;
  pair.set.tasks.push_back(task_of("c", 1s, {.device = 1ms}));
  pair.memory.push_back({.scratch = Bytes{4096 * 7}});
  EXPECT_EQ(pair.plan().scratch_chunks, 8U);
  pair.memory.back().scratch = Bytes{4096 * 9};
  EXPECT_EQ(pair.plan().scratch_chunks, 9U);
}

TEST(CoRunAdmission, RejectsPairsWhoseMemoryExceedsCapacity) {
  Pair pair;
  pair.set.device.capacity = Bytes{4096 * 9};
  const auto plan = make_plan(test::resolved(pair.set, pair.board), pair.memory);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, Errc::not_proved);
  EXPECT_THAT(plan.error().what, HasSubstr("leave out [device] co_run"));
}

TEST(CoRunAdmission, RejectsCoRunUnderReservations) {
  Pair pair;
  pair.set.executive.threads = ThreadPolicy::deadline;
  const Plan plan = pair.plan();
  EXPECT_FALSE(plan.proved);
  EXPECT_THAT(plan.end_to_end.explanation, HasSubstr("use [executive] threads = \"fifo\", or leave out co_run"));
}

TEST(CoRunAdmission, RejectsSwitchingTaskWhenBoardLacksOnePolicy) {
  Pair pair;
  pair.set.tasks[0].memory_policy = MemoryPolicy::switching;
  EXPECT_EQ(pair.plan().tasks[0].memory_policy, MemoryPolicy::switching);
  pair.board.memory_policies = {MemoryPolicy::device, MemoryPolicy::managed};
  const auto plan = make_plan(test::resolved(pair.set, pair.board), pair.memory);
  ASSERT_FALSE(plan);
  EXPECT_THAT(plan.error().what, HasSubstr("memory_policy = \"D/H\": board 'host' does not have it; give D or M"));
}

TEST(CoRunAdmission, ChargesBlockingByCoRunningWcetOfBestEffortTask) {
  Pair pair;
  pair.set.tasks[0].criticality = Criticality::best_effort;
  EXPECT_EQ(pair.plan().tasks[1].response_bound, 40ms + 2ns);
}

} // namespace
} // namespace rtexec::policies
