// Tests which cores the plan assigns to tasks that name none, what it keeps and leaves free, and how often it finds no
// placement although one exists.
#include "policies/bounds/core_assignment.hpp"

#include "policies/admission/admission.hpp"
#include "test/policies/plan_sets.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <random>

namespace rtexec::policies {
namespace {

using namespace std::chrono_literals;
using test::board_of;
using test::set_of;
using test::task_of;
using testing::Contains;
using testing::ElementsAre;
using testing::Not;
using testing::UnorderedElementsAre;

struct Machine {
  Board board = board_of();
  std::vector<unsigned> cores, isolated = {};
  Machine(std::vector<unsigned> all, std::optional<unsigned> compute = {}, std::optional<unsigned> service = {})
      : cores(std::move(all)) {
    board.compute_core = compute;
    board.service_core = service;
  }
};

std::vector<CoreAssignment> assignments(const TaskSet& set, const Machine& machine) {
  std::vector<CoreAssignment> all;
  core_assignments(test::resolved(set, machine.board, machine.cores), [&](const CoreAssignment& cores) {
    all.push_back(cores);
    return false;
  });
  return all;
}

Task anywhere(std::string name, Duration period, Wcet wcet) {
  Task task = task_of(std::move(name), period, wcet);
  task.core.reset();
  return task;
}

Plan plan_of(const TaskSet& set, const Machine& machine) {
  ResolvedSet resolved = test::resolved(set, machine.board, machine.cores);
  resolved.machine.isolated = machine.isolated;
  return make_plan(resolved, std::vector<MemoryDemand>(set.tasks.size())).value();
}

std::vector<unsigned> cores_of(const Plan& plan) {
  std::vector<unsigned> cores;
  for (const PlannedTask& task : plan.tasks) cores.push_back(task.core);
  return cores;
}

std::vector<Task> light(std::size_t count) {
  std::vector<Task> tasks;
  for (std::size_t i = 0; i < count; ++i)
    tasks.push_back(anywhere(std::string(1, static_cast<char>('a' + i)), 100ms, {1ms, 1ms, 1ms}));
  return tasks;
}

std::vector<Task> heavy(std::size_t count) {
  std::vector<Task> tasks;
  for (std::size_t i = 0; i < count; ++i)
    tasks.push_back(anywhere(std::string(1, static_cast<char>('a' + i)), 100ms, {60ms, 1ms, 1ms}));
  return tasks;
}

// ---- chosen cores ----

TEST(CoreAssignment, KeepsCoresGivenByTasks) {
  TaskSet set = set_of(light(4));
  set.tasks[1].core = 3;  // the compute core
  set.tasks[3].core = 77; // a core of another machine
  for (const CoreAssignment& assignment : assignments(set, Machine({0, 1, 2, 3}, 3, 2))) {
    EXPECT_EQ(assignment[1], 3u);
    EXPECT_EQ(assignment[3], 77u);
  }
  const Plan plan = plan_of(set, Machine({0, 1, 2, 3}, 3, 2));
  EXPECT_FALSE(plan.tasks[1].core_chosen);
  EXPECT_TRUE(plan.tasks[0].core_chosen);
}

TEST(CoreAssignment, OffersSingleAssignmentWhenAllTasksArePinned) {
  TaskSet set = set_of(heavy(4));
  for (Task& task : set.tasks) task.core = 1;
  EXPECT_THAT(assignments(set, Machine({0, 1, 2, 3})), ElementsAre(ElementsAre(1, 1, 1, 1)));
}

TEST(CoreAssignment, UsesTheOnlyCoreOfSingleCoreMachine) {
  EXPECT_THAT(assignments(set_of(heavy(3)), Machine({0})), ElementsAre(ElementsAre(0, 0, 0)));
}

TEST(CoreAssignment, FillsFirstCoreWhenThatIsProved) {
  EXPECT_THAT(cores_of(plan_of(set_of(light(3)), Machine({0, 1, 2, 3}, 3, 2))), ElementsAre(0, 0, 0));
}

TEST(CoreAssignment, LeavesTheComputeCoreFree) {
  for (std::size_t count = 1; count < 8; ++count)
    for (const CoreAssignment& assignment : assignments(set_of(heavy(count)), Machine({0, 1, 2, 3}, 1, 0)))
      EXPECT_THAT(assignment, Not(Contains(1u)));
}

TEST(CoreAssignment, TakesComputeCoreWhenThereIsNoOther) {
  EXPECT_THAT(assignments(set_of(light(2)), Machine({5}, 5, 5)), ElementsAre(ElementsAre(5, 5)));
}

TEST(CoreAssignment, TakesTheServiceCoreLast) {
  const Machine machine({0, 1, 2, 3}, 3, 0);
  EXPECT_THAT(cores_of(plan_of(set_of(heavy(2)), machine)), ElementsAre(1, 2));
  EXPECT_THAT(cores_of(plan_of(set_of(heavy(3)), machine)), ElementsAre(1, 2, 0));
  EXPECT_TRUE(plan_of(set_of(heavy(3)), machine).proved);
}

TEST(CoreAssignment, TakesIsolatedCoresBeforeOthers) {
  Machine machine({0, 1, 2, 3, 4, 5}, 5, 4);
  machine.isolated = {2, 3, 4, 5};
  EXPECT_THAT(cores_of(plan_of(set_of(light(3)), machine)), ElementsAre(2, 2, 2));
  EXPECT_THAT(cores_of(plan_of(set_of(heavy(2)), machine)), ElementsAre(2, 3));
  const Plan more = plan_of(set_of(heavy(5)), machine); // more than there are cores
  EXPECT_TRUE(more.proved);
  EXPECT_THAT(cores_of(more), UnorderedElementsAre(0, 1, 2, 3, 4));
  TaskSet set = set_of(light(2));
  set.tasks[0].criticality = Criticality::best_effort;
  EXPECT_THAT(cores_of(plan_of(set, machine)), ElementsAre(3, 2));
  machine.isolated = {4, 5}; // the cores of the service threads
  EXPECT_THAT(cores_of(plan_of(set_of(light(3)), machine)), ElementsAre(0, 0, 0));
}

TEST(CoreAssignment, TakesServiceCoreWhenOnlyComputeCoreRemains) {
  EXPECT_THAT(cores_of(plan_of(set_of(light(2)), Machine({0, 1}, 1, 0))), ElementsAre(0, 0));
}

TEST(CoreAssignment, PutsBestEffortTaskOnLeastLoadedCore) {
  TaskSet set = set_of(light(3));
  set.tasks[0].criticality = Criticality::best_effort;
  set.tasks[0].wcet->before = 90ms;
  const Plan plan = plan_of(set, Machine({0, 1, 2, 3}, 3, 2));
  EXPECT_TRUE(plan.proved);
  EXPECT_THAT(cores_of(plan), ElementsAre(1, 0, 0));
}

TEST(CoreAssignment, SpreadsTasksWhenOnlyBalancedPlacementIsProved) {
  // On one core, each task of the pair would delay the other for too long. The core test alone does not see that.
  TaskSet set = set_of({anywhere("a", 100ms, {20ms, 30ms, 20ms}), anywhere("b", 100ms, {20ms, 30ms, 20ms})});
  const Machine machine({0, 1, 2}, 2);
  const Plan plan = plan_of(set, machine);
  EXPECT_TRUE(plan.proved);
  EXPECT_NE(plan.tasks[0].core, plan.tasks[1].core);
  for (Task& task : set.tasks) task.core = 0;
  EXPECT_FALSE(plan_of(set, machine).proved);
}

TEST(CoreAssignment, ReturnsClosestPlanWhenNoneIsProved) {
  const TaskSet set = set_of({anywhere("a", 100ms, {20ms, 40ms, 20ms}), anywhere("b", 100ms, {20ms, 40ms, 20ms})});
  const Plan plan = plan_of(set, Machine({0, 1, 2}, 2));
  EXPECT_FALSE(plan.proved);
  EXPECT_NE(plan.tasks[0].core, plan.tasks[1].core);
}

TEST(CoreAssignment, IsDeterministic) {
  const TaskSet set = set_of(heavy(5));
  const Machine machine({0, 1, 2, 3}, 3, 2);
  EXPECT_EQ(assignments(set, machine), assignments(set, machine));
}

TEST(CoreAssignment, ReportsNotProvedWhenMemoryDoesNotFit) {
  const TaskSet set = set_of(light(2));
  const auto refused =
      make_plan(test::resolved(set, board_of(), {0, 1, 2}), std::vector<MemoryDemand>(2, {.state = Bytes{1 << 30}}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::not_proved);
}

// ---- against trying all placements ----

/// True if some placement on `cores` is proved.
bool some_placement(TaskSet set, const Machine& machine, std::span<const unsigned> cores, std::size_t from = 0) {
  if (from == set.tasks.size()) return plan_of(set, machine).proved;
  for (const unsigned core : cores) {
    set.tasks[from].core = core;
    if (some_placement(set, machine, cores, from + 1)) return true;
  }
  return false;
}

class CoreAssignmentSearch : public testing::TestWithParam<std::tuple<Order, ThreadPolicy>> {
 protected:
  std::int64_t draw(std::int64_t from, std::int64_t to) { return std::uniform_int_distribution(from, to)(random); }

  TaskSet draw_set() {
    std::vector<Task> tasks;
    const auto n = draw(3, 5);
    // In percent. Reservations need additional room.
    const std::int64_t most = std::get<ThreadPolicy>(GetParam()) == ThreadPolicy::fifo ? 35 : 12;
    for (std::int64_t i = 0; i < n; ++i) {
      const Duration period = draw(10, 100) * 1ms;
      const auto part = [&] { return period * draw(1, most) / 100; };
      tasks.push_back(anywhere(std::string(1, static_cast<char>('a' + i)), period,
                               {part(), period * draw(2, 40) / (100 * n), part()}));
    }
    TaskSet set = set_of(std::move(tasks), std::get<Order>(GetParam()));
    set.executive.threads = std::get<ThreadPolicy>(GetParam());
    return set;
  }

  std::mt19937 random{11};
};

TEST_P(CoreAssignmentSearch, ProvesNearlyAllTinySetsThatSomePlacementProves) {
  const Machine machine({0, 1, 2, 3}, 3, 2);
  const unsigned usable[] = {0, 1, 2};
  int possible = 0, found = 0;
  for (int round = 0; round < 300; ++round) {
    const TaskSet set = draw_set();
    const bool proved = plan_of(set, machine).proved;
    const bool some = some_placement(set, machine, usable);
    EXPECT_TRUE(some || !proved) << "the placement that was found is one of all";
    possible += some ? 1 : 0;
    found += proved ? 1 : 0;
  }
  std::printf("proved: %d of %d that some placement proves\n", found, possible);
  EXPECT_GT(possible, 50);
  EXPECT_LT(possible, 290);
  EXPECT_GE(found * 100, possible * 90);
}

INSTANTIATE_TEST_SUITE_P(Of, CoreAssignmentSearch,
                         testing::Values(std::tuple(Order::edf, ThreadPolicy::fifo),
                                         std::tuple(Order::static_priority, ThreadPolicy::fifo),
                                         std::tuple(Order::edf, ThreadPolicy::deadline),
                                         std::tuple(Order::static_priority, ThreadPolicy::deadline)));

} // namespace
} // namespace rtexec::policies
