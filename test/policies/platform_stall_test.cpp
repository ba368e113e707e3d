// Tests the charges for platform stalls (`platform_stall` of a board): each bound grows by the same amount, regardless
// of the number of device parts.
#include "policies/admission/admission.hpp"
#include "policies/bounds/reservations.hpp"
#include "test/policies/plan_sets.hpp"
#include "test/policies/two_stops.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace rtexec::policies {
namespace {

using namespace std::chrono_literals;
using test::task_of;
using test::test_named;
using testing::HasSubstr;
using testing::Not;

constexpr Duration stop = 500us;

Board board_that_stops(Duration platform_stall) {
  Board board = test::board_of();
  board.compute_core = 9;
  board.service_core = 8;
  board.release_latency = 100us;
  board.dispatch = 50us;
  board.context_switch = 10us;
  board.platform_stall = platform_stall;
  return board;
}

Plan plan_of(const TaskSet& set, const Board& board) {
  return make_plan(test::resolved(set, board), std::vector<MemoryDemand>(set.tasks.size())).value();
}

/// Returns eight networks, each on a core of its own.
TaskSet networks(Order order, ThreadPolicy threads) {
  std::vector<Task> tasks;
  for (unsigned i = 0; i < 8; ++i) tasks.push_back(task_of("t" + std::to_string(i), 100ms, {1ms, 1ms, 100us}, i));
  TaskSet set = test::set_of(std::move(tasks), order);
  set.executive.threads = threads;
  return set;
}

std::vector<Duration> bounds_of(const Plan& plan) {
  std::vector<Duration> bounds;
  for (const PlannedTask& task : plan.tasks) bounds.push_back(task.response_bound.value_or(Duration::max()));
  return bounds;
}

/// Matches about `stops` stops, since the windows of reservations are searched in steps.
auto about(int stops) { return testing::AllOf(testing::Gt(stops * stop - 20us), testing::Lt(stops * stop + 20us)); }

class PlatformStall : public testing::TestWithParam<std::tuple<Order, ThreadPolicy>> {
 protected:
  static TaskSet set() { return networks(std::get<Order>(GetParam()), std::get<ThreadPolicy>(GetParam())); }
};
INSTANTIATE_TEST_SUITE_P(Of, PlatformStall,
                         testing::Combine(testing::Values(Order::edf, Order::static_priority),
                                          testing::Values(ThreadPolicy::fifo, ThreadPolicy::deadline)));

TEST_P(PlatformStall, IsChargedOnceToEachBound) {
  const auto without = bounds_of(plan_of(set(), board_that_stops(0us)));
  const auto with = bounds_of(plan_of(set(), board_that_stops(stop)));
  for (std::size_t i = 0; i < with.size(); ++i) EXPECT_THAT(with[i] - without[i], about(2)) << i;
}

TEST_P(PlatformStall, IsReportedInEndToEndVerdict) {
  const TestVerdict verdict = plan_of(set(), board_that_stops(stop)).end_to_end;
  EXPECT_THAT(verdict.inequality, HasSubstr("J = release latency + 2 S, S: platform_stall"));
  EXPECT_THAT(verdict.explanation, HasSubstr("platform stalls of up to 0.5ms, releases are charged as 1ms later"));
  const TestVerdict none = plan_of(set(), board_that_stops(0us)).end_to_end;
  EXPECT_THAT(none.inequality + none.explanation, Not(HasSubstr("stop")));
}

/// The test of the device alone uses requests that a stall has delayed.
TEST_P(PlatformStall, DelaysRequestsInDeviceTestUnderStaticPriority) {
  const auto left = [&](Duration platform_stall) {
    const Plan plan = plan_of(set(), board_that_stops(platform_stall));
    return std::get<TimeBound>(plan.device_test.bound).left;
  };
  if (std::get<Order>(GetParam()) == Order::edf) return; // under EDF deadlines are shorter by it instead
  EXPECT_EQ(left(stop), left(0us) + 2 * stop);
}

/// Two tasks share a core under reservations: a stall in one of them delays the other too.
TEST(PlatformStallUnderReservations, IsChargedTwiceAsMuchWhenTasksShareACore) {
  const auto lengthened = [&](std::vector<Task> tasks, std::size_t task) {
    TaskSet set = test::set_of(std::move(tasks), Order::static_priority);
    set.executive.threads = ThreadPolicy::deadline;
    return bounds_of(plan_of(set, board_that_stops(stop)))[task] - bounds_of(plan_of(set, board_that_stops(0us)))[task];
  };
  const Wcet wcet{200us, 1ms, 200us};
  EXPECT_THAT(lengthened({task_of("a", 100ms, wcet, 0), task_of("b", 100ms, wcet, 0)}, 0), about(4));
  EXPECT_THAT(lengthened({task_of("a", 100ms, wcet, 0), task_of("b", 100ms, wcet, 1)}, 0), about(2));
  EXPECT_THAT(lengthened({task_of("a", 100ms, wcet, 0), task_of("b", 100ms, wcet, 1)}, 1), about(2));
}

/// A `platform_stall` of 0.5 ms charges releases as one stop of 1 ms would. That is too little for the example.
TEST(TwoPlatformStalls, AreChargedBeforeAndWithinResponse) {
  const test::TwoStops example;
  const auto bound_with = [&](Duration platform_stall) {
    return bounds_of(plan_of(example.tasks, example.board(platform_stall)))[1];
  };
  EXPECT_EQ(bound_with(1ms), 11'105us);
  EXPECT_GE(bound_with(1ms), example.response_of_i);
  EXPECT_LT(bound_with(500us), example.response_of_i);
}

/// Work that a stall has delayed must be done within the window that follows.
TEST(PlatformStallUnderReservations, WidensSchedulerWindowToStallLength) {
  const auto window = [](Duration platform_stall, const std::optional<Traffic>& traffic) {
    return scheduler_reservation(2, 10us, traffic, platform_stall).window;
  };
  const Traffic traffic{.quickest = 1'000'000, .burst = 4};
  for (const auto& moved : {std::optional<Traffic>(), std::optional(traffic)}) {
    EXPECT_EQ(window(0us, moved), scheduler_reservation(2, 10us, moved).window);
    EXPECT_EQ(window(20ms, moved), 20ms);
    EXPECT_EQ(window(200ms, moved), 200ms);
  }
  const Traffic too_much{.quickest = 1000, .burst = 4};
  EXPECT_EQ(window(0us, too_much), Duration(longest_service));
  EXPECT_EQ(window(200ms, too_much), 200ms);
}

TEST(PlatformStallUnderBudgets, LeavesTaskSetUnproved) {
  TaskSet set = networks(Order::edf, ThreadPolicy::fifo);
  set.tasks[0].traffic_before = set.tasks[0].traffic_after = Bytes{6400};
  set.core_budgets = {{.core = 0, .budget = {100'000'000}}};
  set.bandwidth.period = 1ms;
  set.bandwidth.counter = CounterBackEnd::core;
  set.bandwidth.overshoot = Overshoot::forgive;
  Board board = board_that_stops(0us);
  board.counters = {{.event = "r17", .write_event = {}, .line = Bytes{64}, .cores = {}}};
  EXPECT_TRUE(plan_of(set, board).proved);
  board.platform_stall = stop;
  const Plan plan = plan_of(set, board);
  EXPECT_FALSE(plan.proved);
  EXPECT_THAT(plan.end_to_end.explanation, HasSubstr("may stall (platform_stall > 0)"));
}

TEST(PlatformStallLength, IsRejectedWhenNegative) {
  const TaskSet set = networks(Order::edf, ThreadPolicy::fifo);
  const auto plan =
      make_plan(test::resolved(set, board_that_stops(Duration(-1))), std::vector<MemoryDemand>(set.tasks.size()));
  ASSERT_FALSE(plan);
  EXPECT_THAT(plan.error().what, HasSubstr("a charge of -1 ns is out of range"));
}

/// A longer stall proves no more sets and shortens no bound.
TEST(PlatformStallOfRandomSets, OnlyLengthensBounds) {
  std::mt19937 random(3);
  const auto draw = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  int proved = 0;
  for (int i = 0; i < 300; ++i) {
    std::vector<Task> tasks;
    for (int n = draw(1, 5); n > 0; --n)
      tasks.push_back(task_of("t" + std::to_string(n), std::chrono::milliseconds(draw(8, 80)),
                              {draw(0, 900) * 1us, draw(0, 2500) * 1us, draw(0, 900) * 1us},
                              static_cast<unsigned>(draw(0, 2))));
    TaskSet set = test::set_of(std::move(tasks), draw(0, 1) == 0 ? Order::edf : Order::static_priority);
    if (draw(0, 2) == 0) set.executive.threads = ThreadPolicy::deadline;
    const Plan with = plan_of(set, board_that_stops(draw(1, 800) * 1us));
    const Plan without = plan_of(set, board_that_stops(0us));
    EXPECT_TRUE(without.proved || !with.proved);
    if (!with.proved || set.executive.threads == ThreadPolicy::deadline) continue; // the windows are searched
    ++proved;
    if (set.executive.order == Order::edf) continue; // the splits are searched
    for (std::size_t k = 0; k < with.tasks.size(); ++k)
      EXPECT_GT(*with.tasks[k].response_bound, *without.tasks[k].response_bound);
  }
  EXPECT_GT(proved, 50);
}

} // namespace
} // namespace rtexec::policies
