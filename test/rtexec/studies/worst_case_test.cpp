// Tests the search for late responses. The listed releases repeat the run that it finds, and for small sets that is the
// exact worst case.
#include "rtexec/studies/simulator/worst_case.hpp"

#include "policies/admission/admission.hpp"
#include "rtexec/studies/simulator/release_patterns.hpp"
#include "test/support/resolved.hpp"

#include <gtest/gtest.h>

#include <string>

namespace rtexec::simulator {
namespace {

using namespace std::chrono_literals;

struct Scene {
  TaskSet tasks;
  Plan plan;
};

/// Makes a scene of tasks on a core each, without overheads of the machine.
Scene scene_of(std::vector<Task> tasks) {
  Scene scene;
  scene.tasks.executive.order = Order::static_priority;
  Board board;
  board.capacity = board.chunk = Bytes{4096};
  board.memory_policies = {MemoryPolicy::device};
  for (unsigned i = 0; i < tasks.size(); ++i) {
    tasks[i].name = "t" + std::to_string(i);
    tasks[i].core = i;
  }
  scene.tasks.tasks = std::move(tasks);
  scene.plan =
      policies::make_plan(test::resolved(scene.tasks, board), std::vector<MemoryDemand>(scene.tasks.tasks.size()))
          .value();
  return scene;
}

Task task_of(Duration period, Duration device, Duration offset = {}) {
  Task task;
  task.period = task.deadline = period;
  task.wcet = Wcet{.before = 0ns, .device = device, .after = 0ns};
  task.offset = offset;
  return task;
}

WorstCase search(const Scene& scene, Search how = {}) {
  return find_worst_case(scene.tasks, scene.plan, how, [](int) { return true; });
}

Outcome run(const Scene& scene, NextRelease release, Duration horizon) {
  Options options;
  options.horizon = horizon;
  options.release = std::move(release);
  return simulate(scene.tasks, scene.plan, options);
}

TEST(WorstCase, FindsBlockingAndReproducesItFromItsReleases) {
  const Scene scene = scene_of({task_of(50ms, 10ms), task_of(200ms, 45ms, 15ms)});
  EXPECT_EQ(run(scene, {}, 10s).missed(), 0u) << "on the grid nobody is late";
  const WorstCase found = search(scene);
  EXPECT_EQ(found.job.task, 0u);
  EXPECT_GT(found.response, 50ms);
  EXPECT_LE(found.response, 55ms);
  EXPECT_GE(found.response, 54ms);
  Scene repeated = scene;
  repeated.tasks = found.tasks;
  const Outcome outcome = run(repeated, listed_releases(found.tasks), found.run.horizon);
  EXPECT_EQ(outcome.tasks[0].response_max, found.response);
  EXPECT_GE(outcome.tasks[0].missed, 1u);
  EXPECT_LT(found.run.horizon, 400ms) << "it begins shortly before";
}

TEST(WorstCase, StaysWithinBoundOfProvedSet) {
  const Scene scene = scene_of({task_of(50ms, 10ms), task_of(70ms, 12ms), task_of(200ms, 20ms)});
  ASSERT_TRUE(scene.plan.proved);
  const WorstCase found = search(scene);
  EXPECT_EQ(found.bound, scene.plan.tasks[found.job.task].response_bound);
  EXPECT_LE(found.response, found.bound);
  EXPECT_GE(found.response, found.bound - 1ms) << "the bound is tight here";
}

TEST(WorstCase, ReportsAgeOfJobThatNeverEnds) {
  Scene scene = scene_of({task_of(50ms, 25ms), task_of(50ms, 25ms), task_of(200ms, 10ms)});
  // The lateness of the first two remains: the third gets no turn any more.
  for (Task& task : scene.tasks.tasks) task.on_overrun = OnOverrun::catch_up;
  const WorstCase found = search(scene, {.attempts = 20});
  EXPECT_EQ(found.job.task, 2u);
  EXPECT_GT(found.response, 400ms);
}

TEST(WorstCase, IsReproducibleFromItsSeed) {
  const Scene scene = scene_of({task_of(50ms, 10ms), task_of(200ms, 45ms, 15ms)});
  for (const bool early : {false, true}) {
    const Search how{.attempts = 5, .seed = 7, .early = early};
    const WorstCase first = search(scene, how), second = search(scene, how);
    EXPECT_EQ(first.response, second.response);
    for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(first.tasks.tasks[i].releases, second.tasks.tasks[i].releases);
    EXPECT_EQ(simulate(first.tasks, scene.plan, second.run).tasks[first.job.task].longest(), first.response)
        << "stands alone";
  }
}

TEST(WorstCase, ReturnsBestSoFarWhenSearchIsStopped) {
  const Scene scene = scene_of({task_of(50ms, 10ms), task_of(200ms, 45ms)});
  int asked = 0;
  const WorstCase found =
      find_worst_case(scene.tasks, scene.plan, {}, [&](int done) { return asked = done, done < 3; });
  EXPECT_EQ(asked, 3);
  EXPECT_GT(found.response, 0ms);
}

} // namespace
} // namespace rtexec::simulator
