// Tests releases and execution times in the simulator: lists, random numbers with a seed, and the recording of a run.
#include "rtexec/studies/simulator/release_patterns.hpp"

#include <rtexec/task_set.hpp>
#include "rtexec/runtime/planning/executive_setup.hpp"
#include "test/rtexec/runtime/run_sets.hpp"
#include "test/support/test_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

namespace rtexec::simulator {
namespace {

using namespace std::chrono_literals;
using test::set_of;
using test::synthetic;
using testing::AllOf;
using testing::ElementsAre;
using testing::Ge;
using testing::HasSubstr;
using testing::Le;

Plan plan_of(const TaskSet& set) {
  Plan plan;
  for (unsigned i = 0; i < set.tasks.size(); ++i) {
    PlannedTask& task = plan.tasks.emplace_back();
    task.name = set.tasks[i].name;
    task.wcet = *set.tasks[i].wcet;
    task.core_rank = i;
    task.device_done_by = task.done_by = set.tasks[i].deadline;
  }
  return plan;
}

/// Returns the releases of each task.
std::vector<std::vector<Duration>> releases(const TaskSet& set, NextRelease release, Duration horizon) {
  std::vector<std::vector<Duration>> seen(set.tasks.size());
  Options options;
  options.horizon = horizon;
  options.release = std::move(release);
  options.observe = [&](const Step& step) {
    if (step.kind == Step::Kind::release || step.kind == Step::Kind::skip)
      seen[step.job.task].push_back(step.nominal - Instant{});
  };
  static_cast<void>(simulate(set, plan_of(set), options));
  return seen;
}

TaskSet two_tasks() {
  TaskSet set = set_of({synthetic("a", 10ms, {.before = 1ms, .device = 2ms, .after = 1ms}),
                        synthetic("b", 7ms, {.before = 0ms, .device = 1ms, .after = 0ms})},
                       1s);
  set.tasks[1].offset = 3ms;
  return set;
}

// ---- releases ----

TEST(ListedReleases, FollowTheirListAndLeaveOtherTasksPeriodic) {
  TaskSet set = two_tasks();
  EXPECT_FALSE(listed_releases(set)) << "no task lists any";
  set.tasks[0].releases = {5ms, 15ms, 40ms};
  EXPECT_THAT(releases(set, listed_releases(set), 25ms),
              ElementsAre(ElementsAre(5ms, 15ms), ElementsAre(3ms, 10ms, 17ms, 24ms)));
  set.tasks[0].releases->clear();
  EXPECT_THAT(releases(set, listed_releases(set), 9ms), ElementsAre(ElementsAre(), ElementsAre(3ms)));
}

TEST(ListedReleases, AreSkippedWhenPreviousJobIsLate) {
  TaskSet set = two_tasks();
  set.tasks[0].releases = {0ms, 10ms, 20ms, 35ms};
  set.tasks[0].wcet->device = 22ms;
  Options options;
  options.horizon = 60ms;
  options.release = listed_releases(set);
  const Outcome outcome = simulate(set, plan_of(set), options);
  EXPECT_EQ(outcome.tasks[0].released, 2u);
  EXPECT_EQ(outcome.tasks[0].skipped, 2u);
}

/// The counter-example to RT-Swap's analysis as a file and in swap_simulation_test.cpp is the same history.
TEST(ListedReleases, ReproduceKnownDeadlineMiss) {
  const auto test = std::filesystem::path(__FILE__).parent_path().parent_path().parent_path();
  const auto executive = executive::create(read_task_set(test / "../config/rt-swap-hole.toml").value());
  ASSERT_TRUE(executive) << executive.error().what;
  const TaskSet& set = executive->set().tasks;
  Options options;
  options.horizon = *set.executive.duration;
  options.release = listed_releases(set);
  const Outcome outcome = simulate(set, executive->plan(), options);
  const auto m8 = static_cast<std::size_t>(std::ranges::find(set.tasks, "m8", &Task::name) - set.tasks.begin());
  EXPECT_EQ(outcome.tasks[m8].response_max, 143'999us);
  EXPECT_EQ(outcome.tasks[m8].missed, 1u);
  EXPECT_EQ(outcome.missed(), 1u);
}

TEST(SporadicReleases, AreOneToTwoPeriodsApart) {
  const TaskSet set = two_tasks();
  const auto seen = releases(set, sporadic_releases(set, 1), 1s);
  for (std::size_t task = 0; task < 2; ++task) {
    const Duration period = set.tasks[task].period;
    EXPECT_THAT(seen[task].front() - set.tasks[task].offset, AllOf(Ge(0ms), Le(period)));
    std::vector<Duration> gaps;
    for (std::size_t i = 1; i < seen[task].size(); ++i) gaps.push_back(seen[task][i] - seen[task][i - 1]);
    EXPECT_THAT(gaps, testing::Each(AllOf(Ge(period), Le(2 * period))));
    EXPECT_LT(std::ranges::min(gaps), period * 12 / 10);
    EXPECT_GT(std::ranges::max(gaps), period * 18 / 10);
  }
  EXPECT_EQ(seen, releases(set, sporadic_releases(set, 1), 1s));
  EXPECT_NE(seen, releases(set, sporadic_releases(set, 2), 1s));
}

// ---- executions ----

TEST(UniformExecutions, LieBetweenMinimumAndWcet) {
  const TaskSet set = two_tasks();
  for (const double least : {0.0, 0.5, 1.0}) {
    const ExecutionTime execution = uniform_executions(plan_of(set), least, 1);
    std::vector<Duration> times;
    for (std::uint64_t job = 0; job < 1000; ++job) times.push_back(execution({0, job}, Part::device));
    const auto from = Duration(static_cast<Duration::rep>(2e6 * least));
    EXPECT_GE(std::ranges::min(times), from);
    EXPECT_LE(std::ranges::min(times), from + 20us);
    EXPECT_GE(std::ranges::max(times), 2ms - 20us);
    EXPECT_LE(std::ranges::max(times), 2ms);
    EXPECT_EQ(execution({1, 5}, Part::before), 0ms) << "a part that the task does not have";
    EXPECT_EQ(execution({0, 7}, Part::device), times[7]) << "whoever asks, and when";
  }
}

class RecordedExecutionsFile : public testing::Test {
 protected:
  std::string problem(const std::string& text) {
    const auto read = read_executions(written(text), set);
    return read ? "none" : read.error().what;
  }
  std::filesystem::path written(const std::string& text) {
    const auto file = folder.path() / "jobs.csv";
    test::write_text(file, text);
    return file;
  }

  const std::string header = "task,job,nominal_ns,requested_ns,device_begin_ns,device_end_ns,end_ns,outcome\n";
  const std::string jobs =
      "a,0,0,1,5,15,16,in-time\nb,0,0,1,20,24,25,late\na,1,0,1,30,42,43,in-time\nother,0,0,1,2,3,4,in-time\na,2,0,1,50,"
      "50,60,unfinished\n";
  TaskSet set = two_tasks();
  test::ScratchFolder folder;
};

TEST_F(RecordedExecutionsFile, YieldsDeviceTimesOfFinishedJobs) {
  EXPECT_THAT(read_executions(written(header + jobs), set).value(),
              ElementsAre(ElementsAre(10ns, 12ns), ElementsAre(4ns)));
}

TEST_F(RecordedExecutionsFile, PrefersDeviceExecutedColumn) {
  const std::string told = "task,device_begin_ns,device_end_ns,device_executed_ns,outcome\n";
  EXPECT_THAT(read_executions(written(told + "a,5,15,10,late\nb,5,15,7,in-time\n"), set).value(),
              ElementsAre(ElementsAre(10ns), ElementsAre(7ns)));
  for (const char* executed : {"11", "-1", "x"})
    EXPECT_THAT(problem(told + "a,5,15," + executed + ",late\n"), HasSubstr("jobs.csv:2: device_executed_ns"));
}

TEST_F(RecordedExecutionsFile, IsRefusedWithLineOfError) {
  EXPECT_THAT(problem(""), HasSubstr("jobs.csv:1: no columns task"));
  EXPECT_THAT(problem("a,b,c\n"), HasSubstr("jobs.csv:1: no columns task"));
  EXPECT_THAT(problem(header + "a,0,0\n"), HasSubstr("jobs.csv:2: 8 fields"));
  EXPECT_THAT(problem(header + "a,0,0,1,9,8,9,late\n"), HasSubstr("jobs.csv:2: device_begin_ns"));
  EXPECT_THAT(problem(header + "a,0,0,1,x,8,9,late\n"), HasSubstr("jobs.csv:2: device_begin_ns"));
  EXPECT_THAT(problem(header + "a,0,0,1,0,9000000000000000,9,late\n"), HasSubstr("longer than 60min"));
  EXPECT_THAT(problem(header + "a,0,0,1,5,15,16,in-time\n"), HasSubstr("no job of task 'b'"));
  EXPECT_THAT(read_executions("no/such.csv", set).error().what, HasSubstr("no/such.csv"));
}

TEST_F(RecordedExecutionsFile, IsReplayedInOrderOrDrawnAtRandom) {
  const RecordedExecutions recorded{{10ns, 12ns, 14ns}, {4ns}};
  const ExecutionTime in_turn = recorded_executions(plan_of(set), recorded, {});
  EXPECT_EQ(in_turn({0, 0}, Part::device), 10ns);
  EXPECT_EQ(in_turn({0, 5}, Part::device), 14ns);
  EXPECT_EQ(in_turn({0, 5}, Part::before), 1ms) << "its WCET";
  const ExecutionTime drawn = recorded_executions(plan_of(set), recorded, 3);
  std::multiset<Duration> times;
  for (std::uint64_t job = 0; job < 3000; ++job) times.insert(drawn({0, job}, Part::device));
  for (const Duration time : recorded[0]) EXPECT_NEAR(static_cast<double>(times.count(time)), 1000, 150);
}

} // namespace
} // namespace rtexec::simulator
