// Tests tasks that do not use the device: only their own cores matter.
#include "policies/admission/admission.hpp"
#include "policies/exact_arithmetic.hpp"
#include "policies/admission/comparison.hpp"
#include "policies/admission/sensitivity.hpp"
#include "test/policies/plan_sets.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace rtexec::policies {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using test::board_of;
using test::set_of;
using test::task_of;
using test::test_named;
using test::times_of;
using testing::HasSubstr;

constexpr Wcet off_device(Duration before, Duration after) { return {before, Duration(0), after}; }

struct Case {
  const char* name;
  Order order;
  SwapPolicy policy; // `none`: everything fits
  ThreadPolicy threads = ThreadPolicy::automatic;
};

std::string name_of(const testing::TestParamInfo<Case>& info) {
  return std::string(info.param.name) + (info.param.order == Order::edf ? "_edf" : "_static_priority");
}

/// A set on cores 0 and 1. If its memory is swapped, it does not all fit.
struct RandomSet {
  TaskSet tasks;
  Board board = board_of();
  std::vector<MemoryDemand> memory;
};

RandomSet random_set(std::mt19937& random, const Case& which) {
  const auto draw = [&](Nanos low, Nanos high) { return std::uniform_int_distribution<Nanos>(low, high)(random); };
  RandomSet set;
  set.tasks = set_of({}, which.order);
  set.tasks.executive.threads = which.threads;
  set.tasks.swap.policy = which.policy;
  set.board.device = DeviceKind::cuda; // its copy engines do not compute
  set.board.copy_engines = 2;
  set.board.compute_core = 8;
  set.board.service_core = 9;
  set.board.dispatch = microseconds(20);
  set.board.context_switch = microseconds(5);
  set.board.swap_costs = {{.store = StoreKind::pinned,
                           .chunk = set.board.chunk,
                           .in_per_chunk = microseconds(100),
                           .out_per_chunk = microseconds(100)}};
  std::uint64_t chunks = 0, largest = 0;
  const Nanos tasks = draw(2, 4);
  for (Nanos i = 0; i < tasks; ++i) {
    const Duration period = milliseconds(draw(60, 400));
    set.tasks.tasks.push_back(
        task_of("d" + std::to_string(i), period,
                {microseconds(draw(0, 3000)), period * draw(2, 12) / 100, microseconds(draw(0, 3000))},
                static_cast<unsigned>(draw(0, 1))));
    const auto own = static_cast<std::uint64_t>(draw(1, 6));
    set.memory.push_back({.constant = set.board.chunk * own});
    chunks += own;
    largest = std::max(largest, own);
  }
  if (which.policy != SwapPolicy::none)
    set.board.capacity =
        set.board.chunk * static_cast<std::uint64_t>(draw(static_cast<Nanos>(largest) + 1, static_cast<Nanos>(chunks)));
  return set;
}

class OffDevice : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Sets, OffDevice,
                         testing::Values(Case{"resident", Order::edf, SwapPolicy::none},
                                         Case{"resident", Order::static_priority, SwapPolicy::none},
                                         Case{"pipelined", Order::edf, SwapPolicy::pipelined},
                                         Case{"pipelined", Order::static_priority, SwapPolicy::pipelined},
                                         Case{"serial", Order::edf, SwapPolicy::serial},
                                         Case{"serial", Order::static_priority, SwapPolicy::serial},
                                         Case{"rt_swap", Order::edf, SwapPolicy::rt_swap},
                                         Case{"rt_swap", Order::static_priority, SwapPolicy::rt_swap},
                                         Case{"lru", Order::static_priority, SwapPolicy::lru},
                                         Case{"reserved", Order::edf, SwapPolicy::none, ThreadPolicy::deadline},
                                         Case{"reserved", Order::static_priority, SwapPolicy::none,
                                              ThreadPolicy::deadline}),
                         name_of);

/// The task may have any priority, real-time or not.
TEST_P(OffDevice, TaskOnAnotherCoreChangesNoDeviceBound) {
  std::mt19937 random(31);
  int proved = 0;
  for (int attempt = 0; attempt < 400 && proved < 60; ++attempt) {
    RandomSet set = random_set(random, GetParam());
    const auto alone = make_plan(test::resolved(set.tasks, set.board), set.memory);
    if (!alone || !alone->proved) continue;
    ++proved;
    const std::size_t at = random() % (set.tasks.tasks.size() + 1);
    Task control =
        task_of("control", milliseconds(1 + random() % 200), off_device(microseconds(80), microseconds(90)), 2);
    if (random() % 4 == 0) control.criticality = Criticality::best_effort;
    const auto place = static_cast<std::ptrdiff_t>(at);
    set.tasks.tasks.insert(set.tasks.tasks.begin() + place, control);
    set.memory.insert(set.memory.begin() + place, MemoryDemand{});
    Plan beside = make_plan(test::resolved(set.tasks, set.board), set.memory).value();
    ASSERT_TRUE(beside.proved) << beside.end_to_end.explanation;
    EXPECT_EQ(beside.tasks[at].swap_volume, Bytes{0});
    beside.tasks.erase(beside.tasks.begin() + place);
    EXPECT_EQ(beside.device_test.explanation, alone->device_test.explanation);
    EXPECT_EQ(beside.device_test.slack, alone->device_test.slack);
    EXPECT_EQ(times_of(beside.device_test).left, times_of(alone->device_test).left);
    for (std::size_t i = 0; i < alone->tasks.size(); ++i) {
      const PlannedTask& a = alone->tasks[i];
      const PlannedTask& b = beside.tasks[i];
      ASSERT_EQ(std::tie(a.ready_by, a.device_done_by, a.response_bound, a.swap_volume),
                std::tie(b.ready_by, b.device_done_by, b.response_bound, b.swap_volume))
          << a.name << " in attempt " << attempt;
    }
  }
  EXPECT_GT(proved, 20);
}

class OffDeviceTaskPerOrder : public testing::TestWithParam<Order> {};
INSTANTIATE_TEST_SUITE_P(BothOrders, OffDeviceTaskPerOrder, testing::Values(Order::edf, Order::static_priority));

/// R = C + sum over the tasks above of ceil(R/T) C, regardless of the device.
TEST_P(OffDeviceTaskPerOrder, HasBoundOfItsCoreAlone) {
  std::mt19937 random(32);
  int proved = 0;
  for (int attempt = 0; attempt < 400; ++attempt) {
    TaskSet set = set_of({task_of("net", milliseconds(40), {milliseconds(1), milliseconds(18), milliseconds(1)}, 1),
                          task_of("big", milliseconds(90), {milliseconds(1), milliseconds(18), milliseconds(1)}, 1)},
                         GetParam());
    for (int i = 0; i < 4; ++i)
      set.tasks.push_back(task_of("c" + std::to_string(i), microseconds(2000 + random() % 20'000),
                                  off_device(microseconds(random() % 1500), microseconds(1 + random() % 1500)), 0));
    const Plan plan = make_plan(test::resolved(set, board_of()), std::vector<MemoryDemand>(set.tasks.size())).value();
    if (!plan.proved) continue;
    ++proved;
    for (std::size_t i = 2; i < set.tasks.size(); ++i) {
      Nanos response = 0;
      for (Nanos next = 1; next != response;) {
        response = next;
        next = 0;
        for (std::size_t j = 2; j < set.tasks.size(); ++j) {
          const Nanos period = set.tasks[j].period.count();
          const Nanos cost = std::max<Nanos>(1, set.tasks[j].wcet->before.count()) + set.tasks[j].wcet->after.count();
          if (j == i) next += cost;
          else if (plan.tasks[j].core_rank < plan.tasks[i].core_rank) next += (response + period - 1) / period * cost;
        }
      }
      ASSERT_EQ(plan.tasks[i].response_bound, Duration(response)) << set.tasks[i].name << " in attempt " << attempt;
      ASSERT_EQ(plan.tasks[i].device_done_by, plan.tasks[i].ready_by);
    }
  }
  EXPECT_GT(proved, 50);
}

TEST_P(OffDeviceTaskPerOrder, LeavesDeviceTestTriviallyProvedWhenAlone) {
  const TaskSet set =
      set_of({task_of("control", milliseconds(5), off_device(milliseconds(1), milliseconds(2)))}, GetParam());
  const Plan plan = make_plan(test::resolved(set, board_of()), std::vector<MemoryDemand>(1)).value();
  EXPECT_TRUE(plan.proved);
  EXPECT_TRUE(plan.device_test.proved);
  EXPECT_EQ(plan.device_test.explanation, "no real-time task uses the device");
  EXPECT_EQ(plan.tasks[0].response_bound, milliseconds(3));
  EXPECT_EQ(plan.end_to_end.slack, milliseconds(2));
  for (const TestVerdict& verdict : compare_device_tests(plan, test::resolved(set, board_of()))) {
    EXPECT_TRUE(verdict.proved);
    EXPECT_EQ(verdict.explanation, "no real-time task uses the device");
  }
}

/// Another task's device part is longer than this task's deadline. It blocks no task that does not use the device.
TEST_P(OffDeviceTaskPerOrder, IsNotBlockedByLongDevicePartsOfOthers) {
  TaskSet set = set_of({task_of("net", milliseconds(100), {milliseconds(1), milliseconds(80), milliseconds(1)}),
                        task_of("control", milliseconds(5), off_device(milliseconds(1), milliseconds(1)))},
                       GetParam());
  EXPECT_TRUE(make_plan(test::resolved(set, board_of()), std::vector<MemoryDemand>(2)).value().proved);
  set.tasks[1].wcet->device = microseconds(1);
  EXPECT_FALSE(make_plan(test::resolved(set, board_of()), std::vector<MemoryDemand>(2)).value().proved);
}

/// The memory of the task stays on the device: its jobs evict no chunks, and none of its chunks is evicted.
TEST_P(OffDeviceTaskPerOrder, KeepsItsMemoryOnDevice) {
  TaskSet set = set_of({task_of("net", milliseconds(100), {{}, milliseconds(1), {}}),
                        task_of("control", milliseconds(50), off_device(milliseconds(1), milliseconds(1)))},
                       GetParam());
  set.swap.policy = SwapPolicy::serial;
  Board board = board_of();
  board.capacity = board.chunk * 6;
  board.swap_costs = {{.chunk = board.chunk, .in_per_chunk = microseconds(10), .out_per_chunk = microseconds(10)}};
  std::vector<MemoryDemand> memory = {{.constant = board.chunk * 4}, {.state = board.chunk * 3}};
  const auto refused = make_plan(test::resolved(set, board), memory);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::not_proved);
  EXPECT_THAT(refused.error().what, HasSubstr("of 16KiB that may be swapped"));

  set.tasks.push_back(task_of("other", milliseconds(200), {{}, milliseconds(1), {}}));
  memory.push_back(memory[0]);
  board.capacity = board.chunk * 9;
  const Plan plan = make_plan(test::resolved(set, board), memory).value();
  EXPECT_TRUE(plan.proved);
  EXPECT_EQ(plan.tasks[1].swap_volume, Bytes{0});
  EXPECT_EQ(plan.tasks[0].swap_volume + plan.tasks[2].swap_volume, board.chunk * (2 + plan.swap->frames));
  set.tasks[1].swap_volume = board.chunk;
  EXPECT_THAT(make_plan(test::resolved(set, board), memory).error().what, HasSubstr("at most 0B of its memory"));
}

TEST_P(OffDeviceTaskPerOrder, IsNamedWhenItMissesDeadlineOnItsCore) {
  TaskSet set = set_of({task_of("net", milliseconds(20), {milliseconds(3), milliseconds(2), milliseconds(3)}),
                        task_of("control", milliseconds(25), off_device(milliseconds(3), milliseconds(2)))},
                       GetParam());
  set.tasks[1].deadline = milliseconds(10);
  const Plan plan = make_plan(test::resolved(set, board_of()), std::vector<MemoryDemand>(2)).value();
  EXPECT_FALSE(plan.proved);
  EXPECT_TRUE(plan.device_test.proved);
  EXPECT_EQ(plan.end_to_end.limiting_task, "control");
  EXPECT_THAT(plan.end_to_end.explanation, HasSubstr("without a device part"));
}

TEST(OffDeviceHeadroom, CountsOnlyPartsOnTheCore) {
  const TaskSet set = set_of({task_of("control", milliseconds(10), off_device(milliseconds(1), milliseconds(1)))});
  const Plan plan = make_plan(test::resolved(set, board_of()), std::vector<MemoryDemand>(1)).value();
  const Sensitivity room = sensitivity(test::resolved(set, board_of()), plan, {});
  ASSERT_TRUE(room.tasks[0].wcet.proved);
  EXPECT_NEAR(room.tasks[0].wcet.proved->value(), 5, 0.01);
}

} // namespace
} // namespace rtexec::policies
