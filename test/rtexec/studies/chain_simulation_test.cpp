// Tests tasks released by others, and chains, in the simulator: the releases, the measured times, and that no run of
// tiny sets exceeds a bound of its plan.
#include "policies/admission/admission.hpp"
#include "rtexec/studies/simulator/chain_recorder.hpp"
#include "rtexec/studies/simulator/release_patterns.hpp"
#include "test/support/resolved.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace rtexec::simulator {
namespace {

using policies::JobId;
using testing::ElementsAre;

Task task_of(std::string name, int period, Wcet wcet, unsigned core = 0) {
  Task task;
  task.name = std::move(name);
  task.period = task.deadline = Duration(period);
  task.wcet = wcet;
  task.core = core;
  return task;
}

/// Makes a task with two CPU parts, of at least 1 ns each, as plans charge them.
Task on_core(std::string name, int period, int execution, unsigned core = 0) {
  return task_of(std::move(name), period, {Duration(execution - 1), Duration(0), Duration(1)}, core);
}

Task after(const Task& first, std::string name, int period, int execution, unsigned core) {
  Task task = on_core(std::move(name), period, execution, core);
  task.trigger = Trigger::after;
  task.after = first.name;
  return task;
}

Chain chain_of(std::vector<std::string> tasks, Communication communicate = Communication::immediate) {
  Chain chain;
  chain.name = "chain";
  chain.tasks = std::move(tasks);
  chain.communicate = communicate;
  return chain;
}

struct Scene {
  TaskSet tasks;
  Plan plan;
};

Scene scene_of(std::vector<Task> tasks, std::vector<Chain> chains) {
  Scene scene;
  scene.tasks.executive.order = Order::static_priority;
  scene.tasks.tasks = std::move(tasks);
  scene.tasks.chains = std::move(chains);
  Board board;
  board.capacity = board.chunk = Bytes{4096};
  board.memory_policies = {MemoryPolicy::device};
  scene.plan = policies::make_plan(test::resolved(scene.tasks, board, {0, 1, 2}),
                                   std::vector<MemoryDemand>(scene.tasks.tasks.size()))
                   .value();
  return scene;
}

std::vector<std::int64_t> releases_of(const Scene& scene, std::uint32_t task, Options options) {
  std::vector<std::int64_t> releases;
  options.observe = [&](const Step& step) {
    if (step.kind == Step::Kind::release && step.job.task == task)
      releases.push_back(step.now.time_since_epoch().count());
  };
  static_cast<void>(simulate(scene.tasks, scene.plan, options));
  return releases;
}

ChainReport measured(const Scene& scene, Options options) {
  ChainRecorder recorder(scene.tasks, scene.plan);
  recorder.watch(options);
  options.observe = [&](const Step& step) { recorder.see(step); };
  static_cast<void>(simulate(scene.tasks, scene.plan, options));
  return recorder.report().at(0);
}

Options until(std::int64_t horizon) {
  Options options;
  options.horizon = Duration(horizon);
  return options;
}

TEST(ChainSimulation, ReleasesFollowerWhenPredecessorEndsAndItsPeriodHasPassed) {
  const Task first = on_core("first", 100, 30);
  Scene scene = scene_of({first, after(first, "second", 100, 20, 1)}, {});
  EXPECT_THAT(releases_of(scene, 1, until(350)), ElementsAre(30, 130, 230, 330));
  Options options = until(350);
  options.execution = [](JobId job, Part part) { // the second job ends early, but its follower does not
    return Duration(part != Part::before ? 0 : job.task == 1 ? 20 : job.number == 1 ? 5 : 30);
  };
  EXPECT_THAT(releases_of(scene, 1, options), ElementsAre(30, 130, 230, 330));
}

TEST(ChainSimulation, ReleasesFollowerOfShorterPeriodAtEachEndOfPredecessor) {
  const Task first = on_core("first", 100, 30);
  Scene scene = scene_of({first, after(first, "second", 70, 20, 1)}, {});
  Options options = until(350);
  options.execution = [](JobId job, Part part) {
    return Duration(part != Part::before ? 0 : job.task == 0 && job.number == 1 ? 5 : 20);
  };
  EXPECT_THAT(releases_of(scene, 1, options), ElementsAre(20, 105, 220, 320));
}

TEST(ChainSimulation, ReleasesFollowerAtDeadlineOfPredecessorUnderLet) {
  const Task first = on_core("first", 100, 30);
  Scene scene =
      scene_of({first, after(first, "second", 100, 20, 1)}, {chain_of({"first", "second"}, Communication::let)});
  EXPECT_THAT(releases_of(scene, 1, until(350)), ElementsAre(100, 200, 300));
  const ChainReport report = measured(scene, until(1000));
  EXPECT_EQ(report.reaction.times.max, Duration(300)); // from just after a reading to the deadline of the follower
  EXPECT_EQ(report.reduced_age.times.max, Duration(200));
  EXPECT_EQ(report.reaction.bound, Duration(300));
}

/// A late follower is not released twice, whatever its policy.
TEST(ChainSimulation, LateFollowerObeysItsOverrunPolicy) {
  const Task first = on_core("first", 100, 30);
  Task second = after(first, "second", 100, 20, 1);
  Options options = until(650);
  options.execution = [](JobId job, Part part) {
    return Duration(part != Part::before ? 0 : job.task == 1 && job.number == 0 ? 250 : 20);
  };
  second.on_overrun = OnOverrun::skip;
  EXPECT_THAT(releases_of(scene_of({first, second}, {}), 1, options), ElementsAre(20, 320, 420, 520, 620));
  second.on_overrun = OnOverrun::catch_up;
  EXPECT_THAT(releases_of(scene_of({first, second}, {}), 1, options), ElementsAre(20, 270, 290, 320, 420, 520, 620));
  second.on_overrun = OnOverrun::re_phase;
  EXPECT_THAT(releases_of(scene_of({first, second}, {}), 1, options), ElementsAre(20, 270, 370, 470, 570));
}

TEST(ChainSimulation, AbortedJobReleasesNoFollower) {
  Task first = on_core("first", 100, 30);
  first.on_overrun = OnOverrun::abort_job;
  Scene scene = scene_of({first, after(first, "second", 100, 20, 1)}, {});
  Options options = until(450);
  options.execution = [](JobId job, Part part) {
    return Duration(part != Part::before ? 0 : job.task == 0 && job.number == 1 ? 150 : 20);
  };
  EXPECT_THAT(releases_of(scene, 1, options), ElementsAre(20, 270, 370)); // a period apart
}

TEST(ChainSimulation, MeasuresReactionAndAgeFromInputToOutput) {
  const Scene scene =
      scene_of({on_core("first", 100, 30), on_core("second", 50, 10, 1)}, {chain_of({"first", "second"})});
  const ChainReport report = measured(scene, until(10'000));
  // It reads at 0, ends at 30, is sampled at 50 and answered at 60. An event just after 0 is answered at 160.
  EXPECT_EQ(report.reaction.times.min, Duration(160));
  EXPECT_EQ(report.reaction.times.max, Duration(160));
  EXPECT_EQ(report.reaction.bound, Duration(160));
  EXPECT_EQ(report.age.times.max, Duration(160));
  EXPECT_EQ(report.reduced_age.times.min, Duration(60));
  EXPECT_EQ(report.reduced_age.times.max, Duration(110));
  EXPECT_EQ(report.violations(), 0u);
  EXPECT_GT(report.reaction.count, 90u);
}

TEST(ChainSimulation, CountsReactionTimesAboveTheBound) {
  Scene scene = scene_of({on_core("first", 100, 30), on_core("second", 50, 10, 1)}, {chain_of({"first", "second"})});
  *scene.plan.chains[0].reaction -= Duration(1);
  const ChainReport report = measured(scene, until(10'000));
  EXPECT_EQ(report.reaction.violations, report.reaction.count);
  EXPECT_EQ(report.age.violations, 0u);
  Report whole;
  EXPECT_TRUE(whole.bounds_kept());
  whole.chains = {report};
  EXPECT_FALSE(whole.bounds_kept());
  scene.tasks.tasks[0].releases = {Duration(0), Duration(200)}; // no grid: no bound
  EXPECT_EQ(measured(scene, until(1000)).reaction.bound, std::nullopt);
}

TEST(ChainSimulation, TimerTasksInChainsStayPeriodicUnderSporadicReleases) {
  Task apart = on_core("apart", 100, 2);
  Task input = on_core("input", 100, 2);
  input.trigger = Trigger::input;
  Task timer = on_core("timer", 100, 2);
  timer.offset = Duration(7);
  const Scene scene = scene_of({apart, input, timer}, {chain_of({"input", "timer"})});
  Options options = until(400);
  options.release = sporadic_releases(scene.tasks, 1);
  EXPECT_THAT(releases_of(scene, 2, options), ElementsAre(7, 107, 207, 307));
  EXPECT_NE(releases_of(scene, 1, options), (std::vector<std::int64_t>{0, 100, 200, 300, 400}));
  EXPECT_NE(releases_of(scene, 0, options), (std::vector<std::int64_t>{0, 100, 200, 300, 400}));
}

// ---- every run of tiny sets ----

/// Enumerates the execution times of the first jobs of each task, from 0 to the WCET. Later jobs take the WCET.
class EveryExecution {
 public:
  explicit EveryExecution(std::size_t tasks) : tasks_(tasks) {}
  [[nodiscard]] bool next() { return ++choice_ < std::uint64_t{1} << (tasks_ * jobs); }
  [[nodiscard]] Duration operator()(JobId job, Duration wcet) const {
    const bool none = job.number < jobs && (choice_ >> (job.task * jobs + job.number) & 1) != 0;
    return none ? Duration(0) : wcet;
  }

 private:
  static constexpr std::uint64_t jobs = 4;
  std::size_t tasks_;
  std::uint64_t choice_ = 0;
};

struct Found {
  int sets = 0, reached = 0;
};

void try_all(const Scene& scene, Found& found) {
  if (!scene.plan.proved) return;
  ++found.sets;
  Duration longest{0};
  EveryExecution every(scene.tasks.tasks.size());
  do {
    Options options = until(40);
    options.execution = [&](JobId job, Part part) { return every(job, scene.plan.tasks[job.task].wcet.of(part)); };
    const ChainReport report = measured(scene, options);
    ASSERT_EQ(report.violations(), 0u) << scene.plan.chains[0].reaction->count() << " "
                                       << report.reaction.times.max.count();
    longest = std::max(longest, report.reaction.times.max);
  } while (every.next());
  found.reached += longest == scene.plan.chains[0].reaction;
}

TEST(ChainSimulation, ReactionBoundHoldsInEveryExecutionOfSmallTaskSets) {
  Found sampled, followed;
  for (const int first : {4, 5, 6})
    for (const int second : {4, 5, 6})
      for (const int offset : {0, 1, 2})
        for (const int execution : {2, 3})
          for (const unsigned core : {0U, 1U}) {
            Task head = on_core("head", first, execution);
            Task tail = on_core("tail", second, 2, core);
            tail.offset = Duration(offset);
            try_all(scene_of({head, tail}, {chain_of({"head", "tail"})}), sampled);
            if (second > first) continue;
            try_all(scene_of({head, after(head, "tail", second, 2, core)}, {chain_of({"head", "tail"})}), followed);
            if (HasFatalFailure()) return;
          }
  EXPECT_GT(sampled.reached, sampled.sets / 2);
  EXPECT_GT(followed.reached, followed.sets / 2);
  RecordProperty("sampled", sampled.sets);
  RecordProperty("sampled_reached", sampled.reached);
  RecordProperty("followed", followed.sets);
  RecordProperty("followed_reached", followed.reached);
}

} // namespace
} // namespace rtexec::simulator
