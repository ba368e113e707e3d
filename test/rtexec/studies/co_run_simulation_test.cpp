// Tests jobs that execute concurrently, in virtual time.
#include "rtexec/studies/simulator/recorder.hpp"
#include "rtexec/studies/simulator/simulator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rtexec::simulator {
namespace {

using policies::JobId;
using testing::ElementsAre;

/// Two tasks, the first under M and the second under D, which may execute concurrently.
struct Scene {
  TaskSet tasks;
  Plan plan;

  Scene() {
    add({.device = Duration(20)}, MemoryPolicy::managed, CoRun{.wcet = Duration(30), .idle = Duration(12)});
    add({.device = Duration(10)}, MemoryPolicy::device, CoRun{.wcet = Duration(12), .idle = {}});
  }

  void add(const Wcet& wcet, MemoryPolicy policy, std::optional<CoRun> co_run) {
    const auto index = static_cast<unsigned>(plan.tasks.size());
    Task& task = tasks.tasks.emplace_back();
    task.name = "t" + std::to_string(index);
    task.period = task.deadline = Duration(100);
    task.wcet = wcet;
    PlannedTask& planned = plan.tasks.emplace_back();
    planned.name = task.name;
    planned.wcet = wcet;
    planned.core = planned.core_rank = index;
    planned.device_done_by = planned.done_by = task.deadline;
    planned.memory_policy = policy;
    planned.co_run = co_run;
  }

  /// Adds a task that executes when both request the device.
  void block() {
    add({.device = Duration(5)}, MemoryPolicy::device, {});
    for (std::size_t i = 0; i < 2; ++i) tasks.tasks[i].offset = Duration(1);
  }

  std::vector<std::string> log(Options options = {}) const {
    std::vector<std::string> log;
    options.horizon = Duration(90);
    options.observe = [&](const Step& step) {
      const bool starts = step.kind == Step::Kind::execution_start;
      if (starts || step.kind == Step::Kind::execution_end)
        log.push_back(std::to_string(step.now.time_since_epoch().count()) + " t" + std::to_string(step.job.task) +
                      (starts ? " start" : " end"));
    };
    static_cast<void>(simulate(tasks, plan, options));
    return log;
  }
};

TEST(CoRunSimulation, JobsWaitingTogetherExecuteConcurrently) {
  Scene scene;
  scene.block();
  EXPECT_THAT(scene.log(), ElementsAre("0 t2 start", "5 t2 end", "5 t0 start", "5 t1 start", "17 t1 end", "35 t0 end"));
}

TEST(CoRunSimulation, JobsTakeTheirSoloTimesWhenNotPaired) {
  Scene scene;
  EXPECT_THAT(scene.log(), ElementsAre("0 t0 start", "20 t0 end", "20 t1 start", "30 t1 end")) << "told one by one";
}

TEST(CoRunSimulation, NextJobWaitsUntilBothHaveEnded) {
  Scene scene;
  scene.block();
  scene.add({.device = Duration(1)}, MemoryPolicy::device, {});
  scene.tasks.tasks[3].offset = Duration(6);
  EXPECT_EQ(scene.log().back(), "36 t3 end");
}

TEST(CoRunSimulation, ExecutionTimesAreChosenPerPair) {
  Scene scene;
  scene.block();
  Options options;
  options.co_run_execution = [](JobId job, JobId other) {
    EXPECT_EQ(job.task + other.task, 1U);
    return Duration(job.task == 0 ? 3 : 7);
  };
  EXPECT_THAT(scene.log(options),
              ElementsAre("0 t2 start", "5 t2 end", "5 t0 start", "5 t1 start", "8 t0 end", "12 t1 end"));
}

TEST(CoRunSimulation, PlatformStallDelaysBothJobs) {
  Scene scene;
  scene.block();
  Options options;
  options.stop = [stopped = false](Instant) mutable -> std::optional<MachineStop> {
    if (std::exchange(stopped, true)) return std::nullopt;
    return MachineStop{.begin = Instant{Duration(10)}, .length = Duration(4)};
  };
  EXPECT_THAT(scene.log(options),
              ElementsAre("0 t2 start", "5 t2 end", "5 t0 start", "5 t1 start", "21 t1 end", "39 t0 end"));
}

TEST(CoRunSimulation, PartsAreComparedWithTheirCoRunWcets) {
  Scene scene;
  scene.block();
  Recorder recorder(scene.tasks, scene.plan);
  Options options;
  options.horizon = Duration(90);
  options.co_run_execution = [](JobId job, JobId) { return Duration(job.task == 0 ? 30 : 13); };
  recorder.watch(options);
  const Report report = recorder.report(simulate(scene.tasks, scene.plan, options));
  EXPECT_EQ(report.tasks[0].above_wcet.device, 0U) << "30 is what it may take beside another";
  EXPECT_EQ(report.tasks[1].above_wcet.device, 1U);
  EXPECT_EQ(report.tasks[1].observed.device, Duration(13));
  EXPECT_EQ(report.tasks[0].paired, 1U);
  EXPECT_EQ(report.tasks[1].paired, 1U);
  EXPECT_EQ(report.tasks[2].paired, std::nullopt);
}

} // namespace
} // namespace rtexec::simulator
