// Tests device parts in segments, in virtual time.
#include "rtexec/studies/simulator/recorder.hpp"
#include "rtexec/studies/simulator/simulator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace rtexec::simulator {
namespace {

using policies::JobId;
using testing::ElementsAre;

struct SegmentedTask {
  int wcet = 0;
  int offset = 0;
  std::uint32_t device_class = 1;
  std::uint32_t segments = 1;
  std::uint32_t volume = 0; // chunks, 2 in and 1 out
};

struct Scene {
  TaskSet tasks;
  Plan plan;

  explicit Scene(const std::vector<SegmentedTask>& set, std::uint32_t frames = 0) {
    plan.swap = SwapPlan{.policy = SwapPolicy::pipelined, .frames = frames, .copy_engines = 2, .cost = {}, .store = {}};
    plan.swap->cost.in_per_chunk = Duration(2);
    plan.swap->cost.out_per_chunk = Duration(1);
    for (const SegmentedTask& each : set) {
      const auto index = static_cast<unsigned>(plan.tasks.size());
      Task& task = tasks.tasks.emplace_back();
      task.name = "t" + std::to_string(index);
      task.period = task.deadline = Duration(1000);
      task.offset = Duration(each.offset);
      task.wcet = Wcet{.device = Duration(each.wcet)};
      PlannedTask& planned = plan.tasks.emplace_back();
      planned.name = task.name;
      planned.wcet = *task.wcet;
      planned.period = task.period;
      planned.core = planned.core_rank = index;
      planned.device_done_by = planned.done_by = task.deadline;
      planned.device_class = each.device_class;
      planned.segments = each.segments;
      for (std::uint32_t slot = 0; slot < each.volume; ++slot) planned.swap_slots.push_back({.slot = slot});
    }
  }

  /// Returns what happens on the device.
  std::vector<std::string> log(Options options = {}) const {
    const std::map<Step::Kind, std::string> told{{Step::Kind::execution_start, "start"},
                                                 {Step::Kind::preemption, "preempted"},
                                                 {Step::Kind::resumption, "goes on"},
                                                 {Step::Kind::execution_end, "end"}};
    std::vector<std::string> log;
    if (options.horizon == Duration(0)) options.horizon = Duration(900);
    options.observe = [&](const Step& step) {
      if (const auto what = told.find(step.kind); what != told.end())
        log.push_back(std::to_string(step.now.time_since_epoch().count()) + " t" + std::to_string(step.job.task) + " " +
                      what->second);
    };
    static_cast<void>(simulate(tasks, plan, options));
    return log;
  }
};

TEST(SegmentedSimulation, JobOfTopPreemptionClassStartsAtNextCutPoint) {
  const Scene scene({{.wcet = 5, .offset = 12, .device_class = 0}, {.wcet = 30, .segments = 3}});
  EXPECT_THAT(scene.log(),
              ElementsAre("0 t1 start", "20 t1 preempted", "20 t0 start", "25 t0 end", "25 t1 goes on", "35 t1 end"));
}

TEST(SegmentedSimulation, SegmentsRunWithoutPauseWhenNoHigherClassWaits) {
  const Scene scene({{.wcet = 5, .offset = 12}, {.wcet = 31, .segments = 3}});
  EXPECT_THAT(scene.log(), ElementsAre("0 t1 start", "31 t1 end", "31 t0 start", "36 t0 end"));
}

TEST(SegmentedSimulation, PreemptionWaitsForSegmentLaunchedAhead) {
  Scene scene({{.wcet = 5, .offset = 12, .device_class = 0}, {.wcet = 50, .segments = 5}});
  scene.plan.launch_ahead = 1;
  EXPECT_THAT(scene.log(),
              ElementsAre("0 t1 start", "30 t1 preempted", "30 t0 start", "35 t0 end", "35 t1 goes on", "55 t1 end"));
}

/// Each task fills the device. The job above is loaded from the end of the segment on, by 2 copies out and 2 in; the
/// two directions overlap. So are the chunks that it took.
TEST(SegmentedSimulation, PreemptedJobIsSwappedBackInBeforeItResumes) {
  const Scene scene({{.wcet = 5, .offset = 12, .device_class = 1, .volume = 2},
                     {.wcet = 30, .device_class = 2, .segments = 3, .volume = 2}},
                    2);
  EXPECT_THAT(scene.log(),
              ElementsAre("5 t1 start", "15 t1 preempted", "20 t0 start", "25 t0 end", "30 t1 goes on", "50 t1 end"));
}

TEST(SegmentedSimulation, ShorterExecutionIsDividedInSameProportions) {
  const Scene scene({{.wcet = 5, .offset = 12, .device_class = 0}, {.wcet = 30, .segments = 3}});
  Options options;
  options.execution = [](JobId job, Part part) { return Duration(part != Part::device ? 0 : job.task == 0 ? 1 : 22); };
  EXPECT_THAT(scene.log(options),
              ElementsAre("0 t1 start", "14 t1 preempted", "14 t0 start", "15 t0 end", "15 t1 goes on", "23 t1 end"));
}

TEST(SegmentedSimulation, SegmentLengthsFollowPlannedRatio) {
  Scene scene({{.wcet = 5, .offset = 1, .device_class = 0}, {.wcet = 30, .segments = 3}});
  scene.plan.tasks[1].segment_wcets = {Duration(12), Duration(24), Duration(24)};
  EXPECT_EQ(scene.log()[1], "6 t1 preempted");
  scene.tasks.tasks[0].offset = Duration(7);
  EXPECT_EQ(scene.log()[1], "18 t1 preempted");
  scene.plan.tasks[1].segment_wcets.assign(3, Duration(0));
  EXPECT_EQ(scene.log()[1], "10 t1 preempted");
}

TEST(SegmentedSimulation, PlatformStallDelaysCutPoint) {
  const Scene scene({{.wcet = 5, .offset = 12, .device_class = 0}, {.wcet = 30, .segments = 3}});
  Options options;
  options.stop = [stopped = false](Instant) mutable -> std::optional<MachineStop> {
    if (std::exchange(stopped, true)) return std::nullopt;
    return MachineStop{.begin = Instant{Duration(15)}, .length = Duration(4)};
  };
  EXPECT_EQ(scene.log(options)[1], "24 t1 preempted");
}

TEST(SegmentedSimulation, AbortedJobLeavesDeviceAtNextCutPoint) {
  Scene scene({{.wcet = 5, .offset = 16}, {.wcet = 30, .segments = 3}});
  scene.tasks.tasks[1].on_overrun = OnOverrun::abort_job;
  scene.tasks.tasks[1].period = scene.tasks.tasks[1].deadline = Duration(15);
  Options options;
  options.horizon = Duration(29);
  EXPECT_THAT(scene.log(options),
              ElementsAre("0 t1 start", "20 t1 preempted", "20 t0 start", "25 t0 end", "25 t1 start"));
}

TEST(SegmentedSimulation, ReportCountsPreemptions) {
  const Scene scene({{.wcet = 5, .offset = 12, .device_class = 0}, {.wcet = 30, .segments = 3}});
  const Recorder recorder(scene.tasks, scene.plan);
  Options options;
  options.horizon = Duration(1900);
  const Report report = recorder.report(simulate(scene.tasks, scene.plan, options));
  EXPECT_EQ(report.tasks[0].preempted, std::nullopt);
  EXPECT_EQ(report.tasks[1].preempted, 2u);
}

Scene random_scene(std::mt19937_64& random) {
  const auto number = [&](std::uint64_t least, std::uint64_t most) {
    return static_cast<int>(least + random() % (most - least + 1));
  };
  std::vector<SegmentedTask> set;
  std::uint32_t largest = 0;
  for (int i = number(2, 6); i > 0; --i) {
    const auto device_class = static_cast<std::uint32_t>(number(0, 3));
    const auto volume = static_cast<std::uint32_t>(device_class == 0 ? 0 : number(0, 4));
    largest = std::max(largest, volume);
    set.push_back({number(1, 40), number(0, 50), device_class, static_cast<std::uint32_t>(number(1, 6)), volume});
  }
  Scene scene(set, largest + static_cast<std::uint32_t>(number(0, 3)));
  scene.plan.launch_ahead = static_cast<std::uint32_t>(number(0, 2));
  for (std::size_t i = 0; i < set.size(); ++i) {
    scene.tasks.tasks[i].period = scene.tasks.tasks[i].deadline = Duration(number(40, 300));
    scene.plan.tasks[i].period = scene.tasks.tasks[i].period;
  }
  return scene;
}

/// One job executes at a time, for its total execution time. A job that resumes was preempted.
TEST(SegmentedSimulation, JobsExecuteForTheirWholeWcetDespitePreemptions) {
  std::mt19937_64 random(3);
  std::uint64_t preemptions = 0, jobs = 0;
  for (int scenes = 0; scenes < 500; ++scenes) {
    const Scene scene = random_scene(random);
    std::map<JobId, Duration> executed;
    std::optional<std::pair<JobId, Instant>> on_device;
    Options options;
    options.horizon = Duration(5000);
    options.observe = [&](const Step& step) {
      if (step.kind == Step::Kind::execution_start || step.kind == Step::Kind::resumption) {
        EXPECT_FALSE(on_device) << "two jobs at once";
        EXPECT_EQ(executed.contains(step.job), step.kind == Step::Kind::resumption);
        on_device = {step.job, step.now};
      } else if (step.kind == Step::Kind::preemption || step.kind == Step::Kind::execution_end) {
        ASSERT_TRUE(on_device && on_device->first == step.job);
        executed[step.job] += step.now - on_device->second;
        on_device.reset();
        preemptions += step.kind == Step::Kind::preemption;
        if (step.kind == Step::Kind::preemption) return;
        EXPECT_EQ(executed[step.job], scene.plan.tasks[step.job.task].wcet.device);
        ++jobs;
      }
    };
    static_cast<void>(simulate(scene.tasks, scene.plan, options));
    ASSERT_FALSE(HasFailure()) << "scene " << scenes;
  }
  EXPECT_GE(preemptions, 5'000u);
  EXPECT_GE(jobs, 10'000u);
}

} // namespace
} // namespace rtexec::simulator
