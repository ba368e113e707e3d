#include "rtexec/studies/simulator/simulator.hpp"

#include "policies/admission/admission.hpp"
#include "test/rtexec/studies/simulated_two_stops.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <string>
#include <utility>

namespace rtexec::simulator {
namespace {

using policies::JobId;
using testing::ElementsAre;

struct Scene {
  TaskSet tasks;
  Plan plan;
};

/// Makes tasks in order of core priority. Under EDF `device_done_by` is the deadline.
Scene scene_of(Order order, std::vector<Task> tasks) {
  Scene scene;
  scene.plan.order = order;
  for (unsigned i = 0; i < tasks.size(); ++i) {
    PlannedTask planned;
    planned.name = tasks[i].name = "t" + std::to_string(i);
    planned.wcet = *tasks[i].wcet;
    planned.core_rank = i;
    planned.device_rank = order == Order::edf ? 0 : i;
    planned.device_done_by = planned.done_by = tasks[i].deadline;
    scene.plan.tasks.push_back(planned);
  }
  scene.tasks.tasks = std::move(tasks);
  return scene;
}

Task task_of(int period, int before, int device, int after, OnOverrun on_overrun = OnOverrun::skip) {
  Task task;
  task.period = task.deadline = Duration(period);
  task.wcet = Wcet{Duration(before), Duration(device), Duration(after)};
  task.on_overrun = on_overrun;
  return task;
}

/// Returns a line like "12 t0.3 release" for each step.
std::vector<std::string> log_of(const Scene& scene, Options options) {
  static constexpr const char* words[] = {"release",     "skip",          "request",   "hand-on", "start",
                                          "segment-end", "segment-begin", "preempted", "resumed", "end",
                                          "completion",  "abort",         "stop"};
  std::vector<std::string> log;
  options.observe = [&](const Step& step) {
    log.push_back(std::to_string(step.now.time_since_epoch().count()) + " t" + std::to_string(step.job.task) + "." +
                  std::to_string(step.job.number) + " " + words[static_cast<std::size_t>(step.kind)]);
  };
  static_cast<void>(simulate(scene.tasks, scene.plan, options));
  return log;
}

Options until(int horizon) {
  Options options;
  options.horizon = Duration(horizon);
  return options;
}

TEST(Simulator, JobExecutesItsThreePartsInOrder) {
  const Scene scene = scene_of(Order::edf, {task_of(20, 2, 5, 3)});
  EXPECT_THAT(log_of(scene, until(15)),
              ElementsAre("0 t0.0 release", "2 t0.0 request", "2 t0.0 start", "7 t0.0 end", "10 t0.0 completion"));
  const Outcome outcome = simulate(scene.tasks, scene.plan, until(100));
  EXPECT_EQ(outcome.tasks[0].released, 6u);
  EXPECT_EQ(outcome.tasks[0].completed, 5u);
  EXPECT_EQ(outcome.tasks[0].missed, 0u);
  EXPECT_EQ(outcome.tasks[0].response_max, Duration(10));
}

TEST(Simulator, CoresArePreemptive) {
  Scene scene = scene_of(Order::edf, {task_of(100, 2, 1, 0), task_of(100, 10, 1, 0)});
  scene.tasks.tasks[0].offset = Duration(4);
  EXPECT_THAT(
      log_of(scene, until(50)),
      ElementsAre("0 t1.0 release", "4 t0.0 release", "6 t0.0 request", "6 t0.0 start", "7 t0.0 end",
                  "7 t0.0 completion", "12 t1.0 request", "12 t1.0 start", "13 t1.0 end", "13 t1.0 completion"));
}

/// No less urgent task executes between the two parts, and the device scheduler gets no event.
TEST(Simulator, LastPartFollowsFirstAtOnceWithoutDevicePart) {
  const Scene scene = scene_of(Order::edf, {task_of(100, 2, 0, 3), task_of(100, 4, 1, 0)});
  EXPECT_THAT(log_of(scene, until(50)),
              ElementsAre("0 t0.0 release", "0 t1.0 release", "2 t0.0 hand-on", "5 t0.0 completion", "9 t1.0 request",
                          "9 t1.0 start", "10 t1.0 end", "10 t1.0 completion"));
  EXPECT_EQ(simulate(scene.tasks, scene.plan, until(50)).events, 2u) << "of the other task";
}

TEST(Simulator, CoresAreIndependent) {
  Scene scene = scene_of(Order::edf, {task_of(100, 5, 0, 0), task_of(100, 5, 0, 0)});
  scene.plan.tasks[1].core = 7;
  EXPECT_EQ(simulate(scene.tasks, scene.plan, until(50)).tasks[1].response_max, Duration(5));
  scene.plan.tasks[1].core = 0;
  EXPECT_EQ(simulate(scene.tasks, scene.plan, until(50)).tasks[1].response_max, Duration(10));
}

TEST(Simulator, TheDeviceIsNotPreemptive) {
  Scene scene = scene_of(Order::static_priority, {task_of(100, 0, 3, 0), task_of(100, 0, 10, 0)});
  scene.tasks.tasks[0].offset = Duration(1);
  const Outcome outcome = simulate(scene.tasks, scene.plan, until(50));
  EXPECT_EQ(outcome.tasks[0].response_max, Duration(12));
  EXPECT_EQ(outcome.tasks[1].response_max, Duration(10));
}

TEST(Simulator, EdfOrdersTheDeviceByDeadlineNotByRank) {
  Scene scene = scene_of(Order::edf, {task_of(100, 0, 10, 0), task_of(90, 0, 5, 0), task_of(50, 0, 5, 0)});
  scene.tasks.tasks[1].offset = scene.tasks.tasks[2].offset = Duration(1);
  EXPECT_THAT(simulate(scene.tasks, scene.plan, until(40)).tasks[2].response_max, Duration(14));
  EXPECT_THAT(simulate(scene.tasks, scene.plan, until(40)).tasks[1].response_max, Duration(19));
}

// The same late job under every policy: job 0 of a task of period 10 takes 35, all others take 2.

class OverrunSimulation : public testing::Test {
 protected:
  std::vector<std::string> log(OnOverrun policy, int horizon) {
    const Scene scene = scene_of(Order::edf, {task_of(10, 0, 2, 0, policy)});
    Options options = until(horizon);
    options.execution = [](JobId job, Part part) {
      return Duration(part != Part::device ? 0 : job.number == 0 ? 35 : 2);
    };
    outcome = simulate(scene.tasks, scene.plan, options);
    std::vector<std::string> wanted;
    for (const std::string& line : log_of(scene, options))
      if (line.find("start") == std::string::npos && line.find("request") == std::string::npos &&
          line.find(" end") == std::string::npos)
        wanted.push_back(line);
    return wanted;
  }
  const TaskStatistics& task() const { return outcome.tasks[0]; }
  Outcome outcome;
};

TEST_F(OverrunSimulation, SkipDropsReleasesThatPassedDuringLateJob) {
  EXPECT_THAT(log(OnOverrun::skip, 45), ElementsAre("0 t0.0 release", "10 t0.1 skip", "20 t0.1 skip", "30 t0.1 skip",
                                                    "35 t0.0 completion", "40 t0.1 release", "42 t0.1 completion"));
  EXPECT_EQ(task().skipped, 3u);
  EXPECT_EQ(task().missed, 1u);
}

TEST_F(OverrunSimulation, CatchUpReleasesPendingJobsBackToBack) {
  EXPECT_THAT(log(OnOverrun::catch_up, 45),
              ElementsAre("0 t0.0 release", "35 t0.0 completion", "35 t0.1 release", "37 t0.1 completion",
                          "37 t0.2 release", "39 t0.2 completion", "39 t0.3 release", "41 t0.3 completion",
                          "41 t0.4 release", "43 t0.4 completion"));
  EXPECT_EQ(task().skipped, 0u);
  EXPECT_EQ(task().missed, 4u); // relative to the nominal deadlines 10, 20, 30 and 40
  EXPECT_EQ(task().response_max, Duration(35));
}

TEST_F(OverrunSimulation, RePhaseReleasesAtOnceAndShiftsLaterReleases) {
  EXPECT_THAT(log(OnOverrun::re_phase, 60),
              ElementsAre("0 t0.0 release", "35 t0.0 completion", "35 t0.1 release", "37 t0.1 completion",
                          "45 t0.2 release", "47 t0.2 completion", "55 t0.3 release", "57 t0.3 completion"));
  EXPECT_EQ(task().missed, 1u);
}

TEST_F(OverrunSimulation, AbortJobAbortsLateJobAtItsDeadline) {
  EXPECT_THAT(log(OnOverrun::abort_job, 45),
              ElementsAre("0 t0.0 release", "10 t0.0 abort", "35 t0.1 release", "37 t0.1 completion", "40 t0.2 release",
                          "42 t0.2 completion"));
  EXPECT_EQ(task().aborted, 1u);
  EXPECT_EQ(task().missed, 1u);
  EXPECT_EQ(task().skipped, 2u); // 10 and 20 passed before the device part ended; the release at 30 is served
  EXPECT_EQ(task().completed, 2u);
  EXPECT_EQ(task().released, 3u);
}

TEST_F(OverrunSimulation, StopEndsRunAtMissedDeadline) {
  EXPECT_THAT(log(OnOverrun::stop, 45), ElementsAre("0 t0.0 release", "10 t0.0 stop"));
  EXPECT_TRUE(outcome.stopped);
  EXPECT_EQ(outcome.end, Instant{Duration(10)});
}

// Parts of 2 take 5 in jobs 0 and 2 of a task of period 10.

class WcetExceeded : public testing::Test {
 protected:
  std::vector<std::string> log(OnWcetExceeded policy, Part exceeding, Duration takes = Duration(5)) {
    Scene scene = scene_of(Order::edf, {task_of(10, 2, 2, 2)});
    scene.tasks.tasks[0].on_wcet_exceeded = policy;
    Options options = until(65);
    options.execution = [=](JobId job, Part part) {
      return part == exceeding && (job.number == 0 || job.number == 2) ? takes : Duration(2);
    };
    outcome = simulate(scene.tasks, scene.plan, options);
    std::vector<std::string> wanted;
    for (const std::string& line : log_of(scene, options))
      if (line.ends_with("release") || line.ends_with("skip") || line.ends_with("stop")) wanted.push_back(line);
    return wanted;
  }
  Outcome outcome;
};

TEST_F(WcetExceeded, TellPolicySkipsNoRelease) {
  EXPECT_EQ(log(OnWcetExceeded::tell, Part::device), log(OnWcetExceeded::skip_next, Part::device, Duration(2)));
  EXPECT_EQ(outcome.tasks[0].skipped, 0u);
}

TEST_F(WcetExceeded, SkipNextDropsReleaseAfterEachExceedingJob) {
  for (const Part part : {Part::before, Part::device, Part::after}) {
    EXPECT_THAT(log(OnWcetExceeded::skip_next, part),
                ElementsAre("0 t0.0 release", "10 t0.1 skip", "20 t0.1 release", "30 t0.2 release", "40 t0.3 skip",
                            "50 t0.3 release", "60 t0.4 release"));
    EXPECT_EQ(outcome.tasks[0].skipped, 2u);
    EXPECT_EQ(outcome.tasks[0].missed, 0u);
  }
}

TEST_F(WcetExceeded, SkipNextDropsReleasePassedByLateJobOnlyOnce) {
  EXPECT_THAT(log(OnWcetExceeded::skip_next, Part::device, Duration(9)),
              ElementsAre("0 t0.0 release", "10 t0.1 skip", "20 t0.1 release", "30 t0.2 release", "40 t0.3 skip",
                          "50 t0.3 release", "60 t0.4 release"));
}

TEST_F(WcetExceeded, StopEndsRunAtEndOfExceedingPart) {
  EXPECT_THAT(log(OnWcetExceeded::stop, Part::device), ElementsAre("0 t0.0 release", "7 t0.0 stop"));
  EXPECT_TRUE(outcome.stopped);
  EXPECT_EQ(outcome.end, Instant{Duration(7)});
}

TEST(Simulator, AbortedJobLeavesDeviceQueueAtOnce) {
  Scene scene = scene_of(Order::static_priority, {task_of(100, 0, 30, 0), task_of(10, 0, 2, 0, OnOverrun::abort_job)});
  scene.tasks.tasks[1].offset = Duration(1);
  EXPECT_THAT(log_of(scene, until(22)),
              ElementsAre("0 t0.0 release", "0 t0.0 request", "0 t0.0 start", "1 t1.0 release", "1 t1.0 request",
                          "11 t1.0 abort", "11 t1.1 release", "11 t1.1 request", "21 t1.1 abort", "21 t1.2 release",
                          "21 t1.2 request"));
}

TEST(Simulator, NextReleaseWaitsForAbortedCpuPart) {
  const Scene scene = scene_of(Order::edf, {task_of(10, 14, 2, 0, OnOverrun::abort_job)});
  EXPECT_THAT(log_of(scene, until(15)), ElementsAre("0 t0.0 release", "10 t0.0 abort", "14 t0.1 release"));
}

TEST(Simulator, JobThatEndsAtNextReleaseMeetsItsDeadline) {
  const Scene scene = scene_of(Order::edf, {task_of(10, 3, 4, 3)});
  const Outcome outcome = simulate(scene.tasks, scene.plan, until(100));
  EXPECT_EQ(outcome.missed(), 0u);
  EXPECT_EQ(outcome.tasks[0].skipped, 0u);
  EXPECT_EQ(outcome.tasks[0].response_max, Duration(10));
}

TEST(Simulator, StopsAtFirstMissWhenRequested) {
  const Scene scene = scene_of(Order::edf, {task_of(10, 0, 11, 0)});
  Options options = until(1000);
  options.stop_at_miss = true;
  const Outcome outcome = simulate(scene.tasks, scene.plan, options);
  EXPECT_EQ(outcome.missed(), 1u);
  EXPECT_EQ(outcome.end, Instant{Duration(11)});
  EXPECT_FALSE(outcome.stopped);
}

TEST(Simulator, CountsLateUnfinishedJobAsMissAtEndOfRun) {
  const Scene scene = scene_of(Order::edf, {task_of(10, 0, 50, 0)});
  EXPECT_EQ(simulate(scene.tasks, scene.plan, until(11)).missed(), 1u);
  EXPECT_EQ(simulate(scene.tasks, scene.plan, until(10)).missed(), 0u);
}

TEST(Simulator, TakesReleasesAndLatenciesFromCallbacks) {
  const Scene scene = scene_of(Order::edf, {task_of(10, 1, 1, 1)});
  Options options = until(60);
  options.release = [](std::uint32_t, Instant earliest) { return earliest + Duration(5); };
  options.release_latency = [](JobId) { return Duration(2); };
  EXPECT_THAT(log_of(scene,
                     [&] {
                       Options first = options;
                       first.horizon = Duration(22);
                       return first;
                     }()),
              ElementsAre("5 t0.0 release", "8 t0.0 request", "8 t0.0 start", "9 t0.0 end", "10 t0.0 completion",
                          "20 t0.1 release"));
  const Outcome outcome = simulate(scene.tasks, scene.plan, options);
  EXPECT_EQ(outcome.tasks[0].released, 4u); // 5, 20, 35, 50
  EXPECT_EQ(outcome.tasks[0].response_max, Duration(5));
}

Options with_stop(int horizon, const MachineStop& stop) {
  Options options = until(horizon);
  options.stop = [stop, come = false](Instant) mutable {
    return std::exchange(come, true) ? std::nullopt : std::optional(stop);
  };
  return options;
}

TEST(Simulator, PlatformStallLengthensRunningPart) {
  const Scene scene = scene_of(Order::edf, {task_of(100, 4, 6, 3)});
  const auto stopped = [&](int begin) {
    return log_of(scene, with_stop(60, {.begin = Instant{Duration(begin)}, .length = Duration(10)}));
  };
  EXPECT_THAT(stopped(2),
              ElementsAre("0 t0.0 release", "14 t0.0 request", "14 t0.0 start", "20 t0.0 end", "23 t0.0 completion"));
  EXPECT_THAT(stopped(7),
              ElementsAre("0 t0.0 release", "4 t0.0 request", "4 t0.0 start", "20 t0.0 end", "23 t0.0 completion"));
  EXPECT_THAT(stopped(12),
              ElementsAre("0 t0.0 release", "4 t0.0 request", "4 t0.0 start", "10 t0.0 end", "23 t0.0 completion"));
  EXPECT_THAT(stopped(30),
              ElementsAre("0 t0.0 release", "4 t0.0 request", "4 t0.0 start", "10 t0.0 end", "13 t0.0 completion"));
}

TEST(Simulator, PartThatBeginsInPlatformStallIsDelayedByItsRest) {
  const Scene scene = scene_of(Order::edf, {task_of(100, 4, 6, 3)});
  MachineStop stop{.begin = Instant{Duration(3)}, .length = Duration(10), .cores = [](unsigned) { return false; }};
  EXPECT_THAT(log_of(scene, with_stop(60, stop)),
              ElementsAre("0 t0.0 release", "4 t0.0 request", "4 t0.0 start", "19 t0.0 end", "22 t0.0 completion"));
  stop.device = false;
  EXPECT_THAT(log_of(scene, with_stop(60, stop)),
              ElementsAre("0 t0.0 release", "4 t0.0 request", "4 t0.0 start", "10 t0.0 end", "13 t0.0 completion"))
      << "what of the machine does not stop goes on";
  stop = {.begin = Instant{Duration(8)}, .length = Duration(10), .cores = {}, .device = false};
  EXPECT_THAT(log_of(scene, with_stop(60, stop)),
              ElementsAre("0 t0.0 release", "4 t0.0 request", "4 t0.0 start", "10 t0.0 end", "21 t0.0 completion"));
}

TEST(Simulator, ThreadsWakeUpAfterPlatformStall) {
  Scene scene = scene_of(Order::edf, {task_of(100, 1, 1, 1)});
  scene.tasks.tasks[0].offset = Duration(5);
  MachineStop stop{.begin = Instant{Duration(3)}, .length = Duration(10)};
  // The first instant with an event is the release: the stop begins at once.
  EXPECT_THAT(log_of(scene, with_stop(60, stop)),
              ElementsAre("5 t0.0 release", "16 t0.0 request", "16 t0.0 start", "17 t0.0 end", "18 t0.0 completion"));
}

TEST(Simulator, TwoPlatformStallsLengthenResponseWithinItsBound) {
  const test::TwoStops example;
  const auto plan = policies::make_plan(test::resolved(example.tasks, example.board()), std::vector<MemoryDemand>(2));
  const Outcome outcome = simulate(example.tasks, plan.value(), test::options_of(example));
  EXPECT_EQ(outcome.tasks[1].response_max, example.response_of_i);
  EXPECT_LE(outcome.tasks[1].response_max, *plan->tasks[1].response_bound);
}

/// For any mixture of policies, overruns and latencies, the counters are consistent, and a repeated run gives the same
/// result.
TEST(Simulator, CountersAreConsistentUnderOverload) {
  std::mt19937 random(5);
  const auto draw = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  for (int run = 0; run < 300; ++run) {
    std::vector<Task> tasks;
    for (int i = draw(1, 6); i > 0; --i) {
      tasks.push_back(task_of(draw(5, 50), draw(0, 10), draw(0, 15), draw(0, 10), static_cast<OnOverrun>(draw(0, 3))));
      tasks.back().core = static_cast<unsigned>(draw(0, 2));
      tasks.back().offset = Duration(draw(0, 30));
    }
    const Scene scene = scene_of(draw(0, 1) == 0 ? Order::edf : Order::static_priority, std::move(tasks));
    std::vector<std::uint64_t> completions(scene.tasks.tasks.size(), 0);
    std::vector<std::uint64_t> late(scene.tasks.tasks.size(), 0);
    int on_device = 0;
    Options options = until(3000);
    options.release_latency = [](JobId job) { return Duration(job.number % 3); };
    if (run % 2 == 0)
      options.stop = [](Instant now) {
        return std::optional(MachineStop{.begin = now + Duration(23), .length = Duration(4)});
      };
    options.observe = [&](const Step& step) {
      on_device += step.kind == Step::Kind::execution_start ? 1 : step.kind == Step::Kind::execution_end ? -1 : 0;
      ASSERT_GE(on_device, 0);
      ASSERT_LE(on_device, 1);
      ASSERT_GE(step.now, step.nominal);
      if (step.kind != Step::Kind::completion) return;
      ++completions[step.job.task];
      late[step.job.task] += step.now - step.nominal > scene.tasks.tasks[step.job.task].deadline;
    };
    const Outcome outcome = simulate(scene.tasks, scene.plan, options);
    const std::vector<std::string> log = log_of(scene, options);
    ASSERT_EQ(log, log_of(scene, options));
    for (std::size_t i = 0; i < outcome.tasks.size(); ++i) {
      const TaskStatistics& task = outcome.tasks[i];
      ASSERT_EQ(task.completed, completions[i]);
      const std::uint64_t open = task.released - task.completed;
      ASSERT_TRUE(open == task.aborted || open == task.aborted + 1) << "job unaccounted for";
      ASSERT_GE(task.missed, late[i] + task.aborted);
      ASSERT_LE(task.missed, late[i] + task.aborted + 1);
    }
  }
}

} // namespace
} // namespace rtexec::simulator
