// Tests counts, statistics, losses and bounds of whole recordings.
#include "test/traces/recording_script.hpp"
#include "traces/analysis/gantt_windows.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

namespace rtexec::traces {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

Script one(Duration deadline = 100us) {
  TaskSetup setup = task("front", 100us, 0);
  setup.deadline = deadline;
  return Script({setup});
}

TEST(Analyzer, ReportsJobCountsAndStageStatistics) {
  Script script = one();
  for (std::uint64_t job = 0; job < 10; ++job)
    script.run({0, job}, static_cast<std::int64_t>(job) * 100, 5, 10 + static_cast<std::int64_t>(job) % 5, 1);
  script.add(RecordKind::run_end, 1000);
  const auto analysis = script.analyze();
  ASSERT_THAT(analysis.tasks, SizeIs(1));
  const TaskAnalysis& found = analysis.tasks[0];
  EXPECT_EQ(found.released, 10u);
  EXPECT_EQ(found.completed, 10u);
  EXPECT_EQ(found.missed + found.skipped + found.unfinished + found.unknown, 0u);
  EXPECT_THAT(found.invalid, IsEmpty());
  const Distribution& device = found.stages[1].times;
  EXPECT_EQ(device.count, 10u);
  EXPECT_EQ(device.min, 10us);
  EXPECT_EQ(device.max, 14us);
  EXPECT_EQ(device.mean, 12us);
  EXPECT_EQ(device.max_job, 4u);
  EXPECT_EQ(device.max_at, us(400 + 5 + 14));
  EXPECT_THAT(device.high_water, SizeIs(5));
  EXPECT_EQ(found.inter_arrival.count, 9u);
  EXPECT_EQ(found.inter_arrival.min, 100us);
  EXPECT_NEAR(found.utilisation_device, 0.12, 1e-9);
  EXPECT_TRUE(analysis.ended);
  EXPECT_THAT(analysis.breaches, IsEmpty());
}

/// An older recording has no execution time for any job; a newer one omits it if it is the whole time.
TEST(Analyzer, UsesRecordedExecutionTimeOfDevicePartIfPresent) {
  Script script = one();
  script.setup.tasks[0].wcet = {.before = 5us, .device = 15us, .after = 5us};
  script.run({0, 0}, 0, 5, 14, 1);
  script.release({0, 1}, 100, 100);
  script.ready({0, 1}, 105, 5);
  script.begin({0, 1}, 105);
  script.end({0, 1}, 135, 12);
  script.finish({0, 1}, 135, 136, 1);
  const auto analysis = script.analyze();
  const StageAnalysis& device = analysis.tasks[0].stages[1];
  EXPECT_EQ(device.times.min, 12us);
  EXPECT_EQ(device.times.max, 14us);
  EXPECT_THAT(device.samples.samples(), ElementsAre(14'000, 12'000));
  EXPECT_THAT(analysis.above_wcet, IsEmpty());
  EXPECT_THAT(analysis.breaches, IsEmpty());
  EXPECT_EQ(analysis.tasks[0].stages[3].times.max, 36us) << "responses are by the clock";
}

TEST(Analyzer, IgnoresDeviceExecutionTimeRecordedForAnotherJob) {
  Script script = one();
  script.add(RecordKind::device_executed, {0, 0}, 1).executed = 1us; // no job executes
  script.release({0, 0}, 100, 100);
  script.ready({0, 0}, 105, 5);
  script.begin({0, 0}, 105);
  script.add(RecordKind::device_executed, {7, 0}, 110).executed = 1us; // for another job
  script.end({0, 0}, 135);
  script.finish({0, 0}, 135, 136, 1);
  EXPECT_EQ(script.analyze().tasks[0].stages[1].times.max, 30us);
}

TEST(Analyzer, MarksJobUnknownWhenItExecutedLongerThanItHeldTheDevice) {
  Script script = one();
  script.release({0, 0}, 0, 0);
  script.ready({0, 0}, 5, 5);
  script.begin({0, 0}, 5);
  script.end({0, 0}, 15, 11);
  script.finish({0, 0}, 15, 16, 1);
  EXPECT_EQ(script.analyze().tasks[0].unknown, 1u);
}

/// Returns two executions, from 10 to 60 and from 10 to 40. The first one's task is under M.
Script pair(bool co_run) {
  Script script({task("waiting", 200us, 0), task("computing", 200us, 1)});
  for (TaskSetup& each : script.setup.tasks) each.wcet = {.before = 10us, .device = 20us, .after = 5us};
  if (co_run) {
    script.setup.tasks[0].co_run = CoRun{.wcet = 45us, .idle = 40us};
    script.setup.tasks[1].co_run = CoRun{.wcet = 40us, .idle = {}};
  }
  for (const std::uint32_t each : {0U, 1U}) script.release({each, 0}, 0, 0);
  for (const std::uint32_t each : {0U, 1U}) script.ready({each, 0}, 5, 5);
  script.add(RecordKind::scheduler_action, 10).action = {
      .kind = policies::Action::Kind::start_execution, .job = {1, 0}, .transfer = {}, .co_running = co_run};
  for (const std::uint32_t each : {0U, 1U}) script.begin({each, 0}, 10);
  script.end({1, 0}, 40);
  script.end({0, 0}, 60);
  script.finish({1, 0}, 61, 62, 1);
  script.finish({0, 0}, 63, 64, 1);
  script.add(RecordKind::run_end, 200);
  return script;
}

TEST(Analyzer, MeasuresEachOfTwoConcurrentExecutions) {
  const Script script = pair(true);
  const auto analysis = script.analyze();
  EXPECT_EQ(analysis.tasks[0].stages[1].times.max, 50us);
  EXPECT_EQ(analysis.tasks[1].stages[1].times.max, 30us);
  for (const TaskAnalysis& each : analysis.tasks) EXPECT_EQ(each.completed, 1u);
  const auto busy = [&](const std::string& name) {
    return std::ranges::find(analysis.resources, name, &ResourceAnalysis::name)->busy;
  };
  EXPECT_EQ(busy("device"), 50us);
  EXPECT_EQ(busy("beside"), 30us) << "a lane of its own";
  ASSERT_THAT(analysis.breaches, SizeIs(1)) << "30 are more than alone, and what a part may take beside another";
  EXPECT_EQ(analysis.breaches[0].task, "waiting");
  EXPECT_EQ(analysis.breaches[0].promised, 45us);
}

TEST(Analyzer, MarksFirstOfTwoOverlappingJobsUnknownWithoutCoRun) {
  const auto analysis = pair(false).analyze();
  EXPECT_EQ(analysis.tasks[0].unknown, 1u);
  EXPECT_EQ(analysis.tasks[1].completed, 1u);
  EXPECT_TRUE(std::ranges::none_of(analysis.resources, [](const auto& each) { return each.name == "beside"; }));
}

TEST(Analyzer, PercentilesLieWithinOneHistogramClassOfExactOnes) {
  std::mt19937 random(3);
  std::lognormal_distribution<double> lengths(12, 1.5);
  DistributionBuilder builder;
  std::vector<Duration> all;
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    all.emplace_back(static_cast<Duration::rep>(lengths(random)));
    builder.add(all.back(), i, Instant{});
  }
  std::ranges::sort(all);
  const auto found = builder.distribution();
  const auto near = [&](Duration percentile, double share) {
    const auto exact =
        static_cast<double>(all[static_cast<std::size_t>(share * static_cast<double>(all.size())) - 1].count());
    EXPECT_GE(static_cast<double>(percentile.count()), exact);
    EXPECT_LE(static_cast<double>(percentile.count()), exact * (1 + 1.0 / 64) + 1);
  };
  near(found.p50, 0.5);
  near(found.p90, 0.9);
  near(found.p99, 0.99);
  near(found.p999, 0.999);
  near(found.p9999, 0.9999);
  EXPECT_EQ(found.max, all.back());
  EXPECT_EQ(found.min, all.front());
  std::uint64_t counted = 0;
  for (const auto& each : found.classes) counted += each.count;
  EXPECT_EQ(counted, all.size());
}

TEST(Analyzer, CountsEachJobOutcomeSeparately) {
  Script script = one();
  script.run({0, 0}, 0, 1, 2, 1);
  script.run({0, 1}, 100, 1, 150, 1); // late
  script.add(RecordKind::job_miss, {0, 1}, 252).deadline = us(200);
  script.add(RecordKind::job_skip, {0, 0}, 200).nominal = us(200);
  script.release({0, 2}, 300, 300); // fails
  script.ready({0, 2}, 301, 1);
  script.add(RecordKind::job_miss, {0, 2}, 310).deadline = us(400);
  script.release({0, 3}, 400, 400); // is abandoned
  script.ready({0, 3}, 401, 1);
  script.add(RecordKind::job_abort, {0, 3}, 500);
  script.add(RecordKind::job_miss, {0, 3}, 500).deadline = us(500);
  script.release({0, 4}, 500, 501); // is cut off
  script.add(RecordKind::run_end, 510);
  const auto analysis = script.analyze();
  const TaskAnalysis& found = analysis.tasks[0];
  EXPECT_EQ(found.released, 5u);
  EXPECT_EQ(found.completed, 2u);
  EXPECT_EQ(found.missed, 3u);
  EXPECT_EQ(found.skipped, 1u);
  EXPECT_EQ(found.failed, 1u);
  EXPECT_EQ(found.aborted, 1u);
  EXPECT_EQ(found.unfinished, 1u);
  EXPECT_EQ(found.unknown, 0u);
  EXPECT_THAT(analysis.missed_jobs, SizeIs(3));
  for (const JobBreakdown& job : analysis.missed_jobs) EXPECT_EQ(sum(job), job.response);
  EXPECT_THAT(analysis.missed_jobs[1].blame, HasSubstr("job 2 of front failed after 10.0 us of 100 us"));
  EXPECT_THAT(analysis.missed_jobs[2].blame, HasSubstr("job 3 of front was abandoned"));
}

TEST(Analyzer, CountsDroppedReleasesByReason) {
  using enum policies::ReleaseReason;
  Script script({task("front", 100us, 0), task("rear", 100us, 1)});
  const auto skip = [&](std::uint32_t task, std::int64_t nominal, policies::ReleaseReason reason) {
    Record& record = script.add(RecordKind::job_skip, {task, 0}, nominal);
    record.nominal = us(nominal);
    record.reason = reason;
  };
  script.run({0, 0}, 0, 1, 2, 1);
  skip(0, 100, overrun);
  skip(1, 150, wcet_exceeded);
  skip(0, 200, wcet_exceeded);
  skip(0, 300, overrun);
  const auto tasks = script.analyze().tasks;
  EXPECT_EQ(tasks[0].skipped, 3u);
  EXPECT_EQ(tasks[0].skipped_by.overrun, 2u);
  EXPECT_EQ(tasks[0].skipped_by.wcet_exceeded, 1u);
  EXPECT_EQ(tasks[1].skipped, 1u);
  EXPECT_EQ(tasks[1].skipped_by.overrun, 0u);
  EXPECT_EQ(tasks[1].skipped_by.wcet_exceeded, 1u);
}

TEST(Analyzer, IgnoresJobsReleasedBeforeTheRecordingBegins) {
  Script script = one();
  script.add(RecordKind::device_end, {0, 6}, 10);
  script.finish({0, 6}, 10, 12, 2);
  script.run({0, 7}, 100, 1, 2, 1);
  const auto analysis = script.analyze();
  EXPECT_EQ(analysis.tasks[0].released, 1u);
  EXPECT_EQ(analysis.tasks[0].completed, 1u);
  EXPECT_EQ(analysis.tasks[0].unknown, 0u);
  EXPECT_THAT(analysis.tasks[0].invalid, IsEmpty());
  EXPECT_FALSE(analysis.ended);
}

// ---- missing records ----

Script ten() {
  Script script = one();
  for (std::uint64_t job = 0; job < 10; ++job) script.run({0, job}, static_cast<std::int64_t>(job) * 100, 5, 10, 1);
  script.add(RecordKind::run_end, 1000);
  return script;
}

TEST(Losses, AnyMissingRecordOfJobInvalidatesItsTask) {
  const std::size_t records = ten().records.size() - 1;
  for (std::size_t gone = 0; gone < records; ++gone) {
    Script script = ten();
    const RecordKind kind = script.records[gone].kind;
    // Then the recording would look as if it began later.
    if (script.records[gone].job.number == 0 && kind == RecordKind::job_release) continue;
    script.records.erase(script.records.begin() + static_cast<std::ptrdiff_t>(gone));
    const auto found = script.analyze().tasks[0];
    EXPECT_EQ(found.unknown, 1u) << gone;
    EXPECT_THAT(found.invalid, HasSubstr("events of 1 of its jobs are missing")) << gone;
  }
}

TEST(Losses, ContradictoryRecordsMarkTheirJobUnknown) {
  Script wrong_response = ten();
  std::ranges::find(wrong_response.records, RecordKind::job_end, &Record::kind)->response += 1ns;
  EXPECT_EQ(wrong_response.analyze().tasks[0].unknown, 1u);
  Script wrong_order = ten();
  std::ranges::find(wrong_order.records, RecordKind::device_end, &Record::kind)->at = us(3);
  EXPECT_EQ(wrong_order.analyze().tasks[0].unknown, 1u);
}

TEST(Losses, LostEventsInvalidateOnlyTasksThatRanMeanwhile) {
  Script script({task("front", 100us, 0), task("rear", 1000us, 1)});
  script.run({0, 0}, 0, 5, 10, 1);
  script.run({0, 1}, 100, 5, 10, 1);
  script.run({1, 0}, 200, 5, 10, 1);
  const auto analysis = script.analyze({}, {{.from = us(104), .to = us(106), .events = 3, .packets = 0}});
  EXPECT_EQ(analysis.lost_events, 3u);
  EXPECT_THAT(analysis.tasks[0].invalid, HasSubstr("events were lost while 1 of its jobs ran"));
  EXPECT_THAT(analysis.tasks[1].invalid, IsEmpty());
}

TEST(Losses, LossUntilTheEndTruncatesTheAnalysis) {
  Script script = ten();
  const auto analysis = script.analyze({}, {{.from = us(450), .to = Instant::max(), .events = 0, .packets = 0}});
  EXPECT_EQ(analysis.tasks[0].completed, 5u);
  EXPECT_THAT(analysis.tasks[0].invalid, IsEmpty());
  EXPECT_FALSE(analysis.ended);
}

TEST(Losses, ExecutionWithLostEndIsNotBlamedForLaterJobs) {
  Script script({task("front", 100us, 0), task("rear", 1000us, 1)});
  script.release({1, 0}, 0, 0);
  script.ready({1, 0}, 1, 1);
  script.begin({1, 0}, 1); // its end is lost
  script.run({0, 0}, 100, 5, 10, 1);
  script.release({0, 1}, 200, 200);
  script.ready({0, 1}, 205, 5);
  script.begin({0, 1}, 230);
  script.end({0, 1}, 240);
  script.finish({0, 1}, 240, 241, 1);
  Jobs jobs;
  const auto analysis = script.analyze({&jobs}, {{.from = us(50), .to = us(60), .events = 1, .packets = 0}});
  EXPECT_EQ(took(jobs.of({0, 1}), Cause::blocking_execution), 0us);
  EXPECT_EQ(took(jobs.of({0, 1}), Cause::overhead), 25us);
  EXPECT_THAT(analysis.tasks[1].invalid, Not(IsEmpty()));
}

TEST(Losses, UnknownTasksAndInvalidTimesAreIgnored) {
  Script script = one(10us); // so that jobs are late, and explained
  for (std::uint64_t job = 0; job < 10; ++job) script.run({0, job}, static_cast<std::int64_t>(job) * 100, 5, 10, 1);
  for (const auto kind : {RecordKind::device_begin, RecordKind::swap_in_begin, RecordKind::swap_out_begin,
                          RecordKind::job_release, RecordKind::job_start})
    script.add(kind, {77, 3}, 1);
  script.add(RecordKind::throttle_begin, 2).core = 4'000'000'000;
  script.add(RecordKind::device_end, {0, 5}, 0).at = Instant::max();
  script.add(RecordKind::job_release, {0, 11}, 0).nominal = Instant::min();
  const auto analysis = script.analyze();
  EXPECT_EQ(analysis.tasks[0].completed, 10u);
}

TEST(Losses, MissingStreamMarksTaskInvalidButKeepsItsCounts) {
  Script script = ten();
  const auto analysis = script.analyze({}, {{}});
  EXPECT_EQ(analysis.tasks[0].completed, 10u);
  EXPECT_THAT(analysis.tasks[0].invalid, HasSubstr("the events of a core are missing"));
}

// ---- bounds ----

TEST(BoundBreach, ReportsPartsAboveWcetAndResponsesAboveBound) {
  Script script = one();
  script.setup.tasks[0].wcet = {.before = 5us, .device = 10us, .after = 1us};
  script.setup.tasks[0].response_bound = 20us;
  script.run({0, 0}, 0, 5, 10, 1);
  EXPECT_THAT(script.analyze().breaches, IsEmpty());
  script.run({0, 1}, 100, 6, 10, 1);
  script.run({0, 2}, 200, 5, 14, 2);
  const auto breaches = script.analyze().breaches;
  std::vector<std::string> stages;
  for (const Breach& breach : breaches) stages.push_back(breach.stage);
  EXPECT_THAT(stages, ElementsAre("before", "device", "after", "response"));
  EXPECT_EQ(breaches[1].text, "job 2 of front took 14.0 us for its part 'device', above its WCET of 10.0 us");
  EXPECT_EQ(breaches[3].text, "job 2 of front responded in 21.0 us, above its bound of 20.0 us");
}

TEST(BoundBreach, IgnoresPartsWithoutConfiguredWcet) {
  Script script = one();
  script.setup.tasks[0].wcet = {.before = 0us, .device = 10us, .after = 0us};
  script.run({0, 0}, 0, 1, 10, 1);
  EXPECT_THAT(script.analyze().breaches, IsEmpty());
}

TEST(Replay, RefusesImpossibleNumbersOfFramesAndSlots) {
  Script script = one();
  script.setup.swap =
      SwapSetup{.policy = SwapPolicy::pipelined, .frames = UINT32_MAX, .copy_engines = 2, .chunk = {4096}, .store = {}};
  EXPECT_THAT(script.analyze().replay.not_replayed, HasSubstr("an impossible number"));
  script.setup.swap->frames = 4;
  script.setup.tasks[0].swap_slots = UINT32_MAX;
  EXPECT_THAT(script.analyze().replay.not_replayed, HasSubstr("an impossible number"));
}

TEST(Replay, RefusesImpossibleDeviceClassesAndSegmentCounts) {
  Script script = one();
  TaskSetup& task = script.setup.tasks[0];
  task.device_class = UINT32_MAX;
  EXPECT_THAT(script.analyze().replay.not_replayed, HasSubstr("more than there are tasks"));
  task.device_class = 0;
  task.swap_slots = 1;
  EXPECT_THAT(script.analyze().replay.not_replayed, HasSubstr("top preemption class"));
  task.swap_slots = 0;
  task.segments = 0;
  EXPECT_THAT(script.analyze().replay.not_replayed, HasSubstr("no segments"));
  task.segments = UINT32_MAX;
  EXPECT_THAT(script.analyze().replay.not_replayed, HasSubstr("an impossible number of segments"));
}

TEST(BoundBreach, IgnoresDeadlineMissesOfTasksWithoutGuarantee) {
  Script script = one(10us);
  script.setup.tasks[0].wcet = {.before = 5us, .device = 10us, .after = 1us};
  script.run({0, 0}, 0, 5, 10, 1);
  EXPECT_THAT(script.analyze().breaches, SizeIs(1));
  script.setup.tasks[0].promised = false;
  const auto analysis = script.analyze();
  EXPECT_THAT(analysis.breaches, IsEmpty());
  EXPECT_EQ(analysis.misses, 1u);
}

// ---- plots ----

TEST(GanttWindows, ShortRecordingFitsOneWindowWithAllBars) {
  Script script = ten();
  PieceCounter counter;
  const auto analysis = script.analyze({&counter});
  // Two CPU parts, one execution, one response, its release and its deadline.
  EXPECT_EQ(counter.count(), 10u * (4 + 2));
  const auto windows = windows_of(analysis, counter.count());
  ASSERT_THAT(windows, SizeIs(1));
  GanttCollector collector(windows, analysis.from);
  static_cast<void>(script.analyze({&collector}));
  const Gantt gantt = collector.take()[0];
  EXPECT_THAT(gantt.bars, SizeIs(40));
  EXPECT_THAT(gantt.lanes, SizeIs(3));
  for (const GanttBar& bar : gantt.bars) {
    ASSERT_LT(bar.lane, gantt.lanes.size());
    const auto kind = gantt.lanes[bar.lane].kind;
    EXPECT_EQ(kind, bar.kind == GanttBar::Kind::response ? GanttLane::Kind::task
                    : bar.kind == GanttBar::Kind::device ? GanttLane::Kind::device
                                                         : GanttLane::Kind::core);
  }
}

TEST(GanttWindows, LongRecordingYieldsBoundedWindowsAroundMissAndBeginning) {
  Script script = one();
  for (std::uint64_t job = 0; job < 12'000; ++job)
    script.run({0, job}, static_cast<std::int64_t>(job) * 100 + (job > 7000 ? 100 : 0), 5, job == 7000 ? 120 : 10, 1);
  PieceCounter counter;
  const auto analysis = script.analyze({&counter});
  const auto windows = windows_of(analysis, counter.count());
  ASSERT_THAT(windows, SizeIs(2)); // the longest job is the one that missed
  EXPECT_EQ(windows[0].title, "job 7000 of front, missed");
  EXPECT_LT(windows[0].from, us(700'000));
  EXPECT_GT(windows[0].to, us(700'120));
  GanttCollector collector(windows, analysis.from);
  static_cast<void>(script.analyze({&collector}));
  for (const Gantt& gantt : collector.take()) {
    EXPECT_LE(gantt.bars.size() + gantt.marks.size(), GanttCollector::max_in_window);
    EXPECT_THAT(gantt.bars, testing::Not(IsEmpty()));
    for (const GanttBar& bar : gantt.bars) EXPECT_TRUE(bar.end > gantt.from && bar.begin < gantt.to);
  }
}

} // namespace
} // namespace rtexec::traces
