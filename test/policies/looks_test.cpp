// Tests the charge for release threads that poll for iceoryx messages: as much as an additional task that polls would
// take, directly above the task that polls.
#include "policies/admission/admission.hpp"
#include "policies/bounds/charges.hpp"
#include "test/policies/plan_sets.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace rtexec::policies {
namespace {

using namespace std::chrono_literals;
using namespace rtexec::policies::test;
using testing::HasSubstr;

constexpr Load looks{.period = 50, .cost = 3, .jitter = 4};

StagedSet random_set(std::mt19937_64& random) {
  const auto draw = [&](Nanos low, Nanos high) { return std::uniform_int_distribution<Nanos>(low, high)(random); };
  StagedSet set;
  set.release_jitter = looks.jitter;
  for (Nanos tasks = draw(1, 5); tasks > 0; --tasks) {
    const Nanos period = draw(60, 400);
    set.tasks.push_back({.period = period,
                         .deadline = draw(period / 2, period),
                         .before = draw(1, 20),
                         .device = draw(0, 2) > 0 ? draw(1, 20) : 0,
                         .after = draw(1, 20),
                         .core = static_cast<unsigned>(draw(0, 1))});
    if (draw(0, 2) == 0) set.tasks.back().looks = looks;
  }
  return set;
}

/// Returns the set with an additional task for each one that polls, and the indices of the tasks of `set` in it.
std::pair<StagedSet, std::vector<std::size_t>> with_tasks_that_look(const StagedSet& set) {
  std::pair<StagedSet, std::vector<std::size_t>> result{set, {}};
  result.first.tasks.clear();
  for (StagedTask task : set.tasks) {
    if (task.looks.cost > 0)
      result.first.tasks.push_back(
          {.period = looks.period, .deadline = looks.period, .before = looks.cost, .core = task.core});
    task.looks = {};
    result.second.push_back(result.first.tasks.size());
    result.first.tasks.push_back(task);
  }
  return result;
}

TEST(EventChecks, AreChargedLikeTaskAboveThePollingTask) {
  std::mt19937_64 random(1);
  int compared = 0, longer = 0;
  for (int i = 0; i < 3000; ++i) {
    const StagedSet set = random_set(random);
    const auto [expected, places] = with_tasks_that_look(set);
    const std::vector<StageBounds> bounds = static_priority_bounds(set), others = static_priority_bounds(expected);
    if (!others.back().settled || others.back().done > expected.tasks[others.size() - 1].deadline) continue;
    StagedSet without = set;
    for (StagedTask& task : without.tasks) task.looks = {};
    const std::vector<StageBounds> free = static_priority_bounds(without);
    ASSERT_EQ(bounds.size(), set.tasks.size());
    for (std::size_t task = 0; task < bounds.size(); ++task) {
      ASSERT_EQ(bounds[task].done, others[places[task]].done);
      ASSERT_EQ(core_responses(set)[task].value, core_responses(expected)[places[task]].value);
      longer += bounds[task].done > free[task].done;
      ++compared;
    }
  }
  EXPECT_GT(compared, 1000);
  EXPECT_GT(longer, 300);
}

TEST(EventChecks, AreChargedLikeAdditionalTaskUnderEdf) {
  std::mt19937_64 random(2);
  int compared = 0;
  for (int i = 0; i < 3000; ++i) {
    const StagedSet set = random_set(random);
    const auto [expected, places] = with_tasks_that_look(set);
    const EdfBounds bounds = edf_bounds(set, Effort::quick), others = edf_bounds(expected, Effort::quick);
    if (!others.proved()) continue;
    ASSERT_TRUE(bounds.proved());
    for (std::size_t task = 0; task < set.tasks.size(); ++task) {
      ASSERT_EQ(bounds.tasks[task].ready, others.tasks[places[task]].ready);
      ASSERT_EQ(bounds.tasks[task].last_window, others.tasks[places[task]].last_window);
      ++compared;
    }
  }
  EXPECT_GT(compared, 500);
}

Task fed(Task task, std::vector<SourceKind> sources) {
  task.trigger = Trigger::input;
  for (const SourceKind source : sources) {
    TaskInput& input = task.inputs.emplace_back();
    input.tensor = "t" + std::to_string(task.inputs.size());
    input.source = source;
    input.from = "somewhere";
  }
  return task;
}

TEST(EventChecks, AreChargedOnlyToTasksReleasedByMessages) {
  const Task task = task_of("t", 10ms, {1ms, 0ms, 0ms});
  const auto looks_for_messages = [](const Task& each) { return looks_of(each, board_of()).cost > 0; };
  EXPECT_TRUE(looks_for_messages(fed(task, {SourceKind::iceoryx})));
  EXPECT_TRUE(looks_for_messages(fed(task, {SourceKind::files, SourceKind::iceoryx, SourceKind::camera})));
  EXPECT_FALSE(looks_for_messages(fed(task, {SourceKind::camera, SourceKind::iceoryx})));
  EXPECT_FALSE(looks_for_messages(fed(task, {SourceKind::camera})));
  Task timer = fed(task, {SourceKind::iceoryx});
  timer.trigger = Trigger::timer;
  EXPECT_FALSE(looks_for_messages(timer));
}

Plan planned(const TaskSet& tasks, const Board& board) {
  return make_plan(resolved(tasks, board), std::vector<MemoryDemand>(tasks.tasks.size())).value();
}

/// Polling takes 25 us of every 500 us, on a core that has 4 % left.
TEST(EventChecks, AreChargedToTheirCore) {
  Board board = board_of();
  board.context_switch = 10us;
  const Wcet all_but_4_percent{9550us, 0ms, 0ms};
  TaskSet set = set_of({task_of("quick", 10ms, all_but_4_percent)});
  ASSERT_TRUE(planned(set, board).proved);
  set.tasks[0] = fed(set.tasks[0], {SourceKind::iceoryx});
  const Plan plan = planned(set, board);
  EXPECT_FALSE(plan.proved);
  EXPECT_THAT(plan.end_to_end.explanation,
              HasSubstr("polls for iceoryx messages is charged 0.025ms of its core every 0.5ms"));
  set.tasks[0].criticality = Criticality::best_effort; // without priority
  EXPECT_TRUE(planned(set, board).proved);
  set.tasks[0].criticality = Criticality::real_time;
  set.tasks[0].inputs[0].source = SourceKind::camera; // its driver wakes the thread
  EXPECT_TRUE(planned(set, board).proved);
}

/// Two tasks fit on one core if polling is ignored. The plan puts each on a core of its own.
TEST(EventChecks, AreCountedWhenPlanChoosesCores) {
  Task seen = fed(task_of("seen", 10ms, {4ms, 0ms, 0ms}), {SourceKind::iceoryx});
  Task other = task_of("other", 10ms, {5950us, 0ms, 0ms});
  seen.core.reset(), other.core.reset();
  Board board = board_of();
  board.context_switch = 1us;
  const TaskSet set = set_of({seen, other});
  const auto plan = make_plan(resolved(set, board, {0, 1, 2}), std::vector<MemoryDemand>(2)).value();
  EXPECT_TRUE(plan.proved);
  EXPECT_NE(plan.tasks[0].core, plan.tasks[1].core);
}

TEST(EventChecks, LeaveTaskUnprovedUnderReservations) {
  TaskSet set = set_of({fed(task_of("seen", 10ms, {1ms, 0ms, 0ms}), {SourceKind::iceoryx})});
  set.executive.threads = ThreadPolicy::deadline;
  const Plan plan = planned(set, board_of());
  EXPECT_FALSE(plan.proved);
  EXPECT_FALSE(plan.tasks[0].promised);
  EXPECT_THAT(plan.end_to_end.explanation, HasSubstr("task 'seen' is released by iceoryx messages"));
  set.tasks[0].inputs[0].source = SourceKind::camera;
  EXPECT_TRUE(planned(set, board_of()).proved);
}

} // namespace
} // namespace rtexec::policies
