// Compares the tests of the device alone: RT-Swap's figure for the set that refutes it, the requirements of each, and
// searched priorities.
#include "policies/admission/admission.hpp"
#include "policies/admission/comparison.hpp"
#include "policies/device/device_tests.hpp"
#include "policies/device/volume_search.hpp"
#include "test/policies/plan_sets.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace rtexec::policies {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr Nanos ms = 1'000'000;

/// Returns a set whose chunks take 3 ms each way.
DeviceSet serial_set(std::uint32_t overflow) {
  DeviceSet set{.tasks = {}, .overflow = overflow, .cost = {}};
  set.cost.in_per_chunk = set.cost.out_per_chunk = set.cost.drop_per_chunk = 3ms;
  return set;
}

void add(DeviceSet& set, Nanos period, Nanos execution, std::uint32_t chunks, int times = 1) {
  for (int i = 0; i < times; ++i)
    set.tasks.push_back(
        {.period = period, .deadline = period, .execution = execution, .least = chunks, .most = chunks});
}

/// Returns the first set that RT-Swap's Eq. (3) accepts although its scheduler misses a deadline.
DeviceSet hole() {
  DeviceSet set = serial_set(21);
  add(set, 99'990'000, ms, 1);
  add(set, 139'990'000, ms / 2, 0);
  add(set, 140 * ms, 10 * ms, 0, 7);
  add(set, 100'000 * ms, 10 * ms, 10, 3);
  return set;
}
/// Returns the second such set.
DeviceSet second_hole() {
  DeviceSet set = serial_set(11);
  add(set, 100 * ms, ms, 1);
  add(set, 140 * ms, 10 * ms, 0, 7);
  add(set, 10'000 * ms, 10 * ms, 10, 3);
  return set;
}

TEST(DeviceTests, Theorem1ReproducesPublishedUtilisation) {
  const DeviceVerdict verdict = test_device(hole(), DeviceTest::theorem1, Order::edf);
  EXPECT_TRUE(verdict.proved);
  EXPECT_NEAR(static_cast<double>(verdict.left) * 1e-9, 0.9757, 1e-4);
  EXPECT_EQ(verdict.right, 1'000'000'000);
  EXPECT_EQ(verdict.blocking, 40 * ms) << "30 ms in, 10 ms of execution";
  EXPECT_EQ(verdict.limiting, 0u);
  EXPECT_TRUE(test_device(second_hole(), DeviceTest::theorem1, Order::edf).proved);
}

TEST(DeviceTests, SoundTestsRejectRtSwapRuleForSetsThatMissDeadlines) {
  for (DeviceSet set : {hole(), second_hole()}) {
    set.rule = SwapRule::rt_swap;
    EXPECT_FALSE(test_device(set, DeviceTest::baker, Order::edf).proved);
    EXPECT_FALSE(test_device(set, DeviceTest::demand, Order::edf).proved);
    EXPECT_FALSE(test_device(set, DeviceTest::rta, Order::static_priority).proved);
  }
}

TEST(DeviceTests, ReportTightestInstantBlockingAndSlack) {
  DeviceSet set = serial_set(4);
  add(set, 100 * ms, 10 * ms, 0);
  add(set, 400 * ms, 20 * ms, 4);
  add(set, 400 * ms, 20 * ms, 4);
  const DeviceVerdict baker = test_device(set, DeviceTest::baker, Order::edf);
  EXPECT_EQ(baker.instant, 100 * ms);
  EXPECT_EQ(baker.blocking, (20 + 20) * ms) << "its swap-in beside another's execution, which is longer, and its own";
  EXPECT_EQ(baker.left, 500'000'000);
  EXPECT_EQ(baker.slack, 50 * ms);
  const DeviceVerdict demand = test_device(set, DeviceTest::demand, Order::edf);
  EXPECT_EQ(demand.instant, 100 * ms);
  EXPECT_EQ(demand.left, 50 * ms);
  EXPECT_EQ(demand.slack, 50 * ms);
  EXPECT_EQ(demand.limiting, 0u);
  EXPECT_TRUE(demand.blocker == 1u || demand.blocker == 2u);
  EXPECT_EQ(demand.responses, (std::vector<Nanos>{50 * ms, 98 * ms, 98 * ms}))
      << "10 + 44 twice: the device is free for once after that";
}

TEST(DeviceTests, BakerImpliesDemand) {
  std::mt19937 random(3);
  const auto draw = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  int both = 0, demand_alone = 0;
  for (int run = 0; run < 5000; ++run) {
    DeviceSet set = serial_set(0);
    set.cost.in_per_chunk = Duration(draw(1, 3));
    set.cost.out_per_chunk = Duration(draw(1, 3));
    for (int n = draw(1, 5); n > 0; --n) {
      const Nanos period = draw(10, 200);
      set.tasks.push_back({.period = period,
                           .deadline = draw(static_cast<int>(period) / 2, static_cast<int>(period)),
                           .execution = draw(1, 12),
                           .most = static_cast<std::uint32_t>(draw(0, 4))});
    }
    std::uint32_t all = 0;
    for (const DeviceTask& task : set.tasks) all += task.most;
    set.overflow = static_cast<std::uint32_t>(draw(0, static_cast<int>(all)));
    for (const Volumes& volumes : volumes_for(set, DeviceTest::baker, Order::edf)) {
      const bool demand = test_device(set, DeviceTest::demand, Order::edf, volumes).proved;
      const bool baker = test_device(set, DeviceTest::baker, Order::edf, volumes).proved;
      ASSERT_TRUE(!baker || demand) << run;
      ++(baker ? both : demand_alone += demand ? 0 : -1);
    }
  }
  EXPECT_GT(both, 500);
  EXPECT_GT(demand_alone, 10);
}

Plan planned(const TaskSet& set) {
  return make_plan(test::resolved(set, test::board_of()), std::vector<MemoryDemand>(set.tasks.size())).value();
}

TEST(Comparison, ListsDeviceTestsOfEachOrderWithBounds) {
  TaskSet set = test::set_of(
      {test::task_of("front", 100ms, {.device = 10ms}), test::task_of("rear", 200ms, {.device = 40ms}, 1)});
  const auto tests = compare_device_tests(planned(set), test::resolved(set, test::board_of()));
  ASSERT_EQ(tests.size(), 4u);
  EXPECT_EQ(tests[0].name(), "theorem1");
  EXPECT_TRUE(!tests[0].sound());
  EXPECT_EQ(std::get<ShareBound>(tests[0].bound).left, 800'000'000)
      << "(40 + 10) / 100 + 10 / 100 + 40 / 200, of a second";
  EXPECT_EQ(tests[1].name(), "baker");
  EXPECT_EQ(tests[2].name(), "demand");
  EXPECT_EQ(tests[2].blocking_task, "rear");
  EXPECT_EQ(tests[2].responses.size(), 2u);
  EXPECT_EQ(tests[3].name(), "pipelined");
  EXPECT_EQ(tests[3].slack, tests[2].slack) << "nothing is loaded";
  EXPECT_THAT(tests[2].explanation, HasSubstr("by task 'rear'"));
  set.executive.order = Order::static_priority;
  const auto others = compare_device_tests(planned(set), test::resolved(set, test::board_of()));
  ASSERT_EQ(others.size(), 2u);
  EXPECT_EQ(others[0].name(), "rta");
  EXPECT_EQ(others[1].responses, (std::vector<Duration>{50ms, 50ms}));
}

TEST(Comparison, NoSoundTestProvesResponseBeyondDeadline) {
  for (const Order order : {Order::edf, Order::static_priority})
    for (const Wcet wcet : {Wcet{.device = 19'900us}, Wcet{4ms, 15ms, 2ms}}) {
      const TaskSet set = test::set_of({test::task_of("late", 20ms, wcet)}, order);
      Board board = test::board_of();
      board.dispatch = 60us;
      const ResolvedSet resolved = test::resolved(set, board);
      const Plan plan = make_plan(resolved, std::vector<MemoryDemand>(1)).value();
      EXPECT_FALSE(plan.proved);
      for (const TestVerdict& verdict : compare_device_tests(plan, resolved))
        EXPECT_FALSE(verdict.sound() && verdict.proved) << verdict.name();
    }
}

// ---- searched priorities ----

TEST(Audsley, FindsPriorityOrderWheneverOneExists) {
  std::mt19937 random(8);
  const auto draw = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  int monotonic = 0, searched = 0, none = 0;
  for (int run = 0; run < 3000; ++run) {
    std::vector<Task> tasks;
    const int n = draw(2, 5);
    for (int i = 0; i < n; ++i) {
      Task& task =
          tasks.emplace_back(test::task_of(std::string(1, static_cast<char>('a' + i)),
                                           std::chrono::milliseconds(draw(10, 60)), {}, static_cast<unsigned>(i)));
      task.deadline = task.period * draw(5, 10) / 10;
      task.wcet->device = std::max(Duration(1ms), task.period * draw(5, 30) / (20 * n));
      task.priority = i + 1;
    }
    TaskSet set = test::set_of(tasks, Order::static_priority);
    set.executive.priorities = PriorityAssignment::deadline_monotonic;
    const bool by_deadline = planned(set).proved;
    set.executive.priorities = PriorityAssignment::audsley;
    const bool found = planned(set).proved;
    set.executive.priorities = PriorityAssignment::explicit_priorities;
    std::vector<int> order(tasks.size());
    for (int i = 0; i < n; ++i) order[static_cast<std::size_t>(i)] = i + 1;
    bool any = false;
    do {
      for (std::size_t i = 0; i < order.size(); ++i) set.tasks[i].priority = order[i];
      any = any || planned(set).proved;
    } while (!any && std::ranges::next_permutation(order).found);
    ASSERT_EQ(found, any) << run;
    ++(by_deadline ? monotonic : found ? searched : none);
  }
  EXPECT_GT(monotonic, 300);
  EXPECT_GE(searched, 3);
  EXPECT_GT(none, 300);
}

} // namespace
} // namespace rtexec::policies
