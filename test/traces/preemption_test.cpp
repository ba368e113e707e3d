// Tests jobs that are preempted between segments of their device part: intervals, causes, blame, plots, and the replay.
#include "test/traces/recording_script.hpp"
#include "traces/analysis/gantt_windows.hpp"
#include "traces/report/gantt_svg.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

namespace rtexec::traces {
namespace {

using namespace std::chrono_literals;
using policies::Action;
using policies::Event;
using policies::JobId;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr JobId front{0, 0}, rear{1, 0};
constexpr std::size_t device = 1;

/// Returns a script in which `front` is a top-class task, and `rear` has three segments. By deadline and rank `rear`
/// would be more urgent.
Script two() {
  Script script({task("front", 1000us, 1), task("rear", 400us, 0)});
  script.setup.tasks[0].device_class = 0;
  script.setup.tasks[1].segments = 3;
  return script;
}

/// Adds a job that executes from `begin` to `end`, as soon as it is released.
void top_class(Script& script, JobId job, std::int64_t begin, std::int64_t end) {
  script.release(job, begin - 2, begin - 2);
  script.ready(job, begin - 1, 1);
  script.begin(job, begin);
  script.end(job, end);
  script.finish(job, end, end, 0);
}

/// Returns a script in which `rear` executes from 1 to 11 and from 23 to 44, with a microsecond between its last two
/// segments. `front` has the device from 12 to 22.
Script preempted() {
  Script script = two();
  script.release(rear, 0, 0);
  script.ready(rear, 1, 1);
  script.begin(rear, 1);
  top_class(script, front, 12, 22);
  script.pause(rear, 0, 11, 23);
  script.pause(rear, 1, 33, 34);
  script.end(rear, 44);
  script.finish(rear, 44, 45, 1);
  script.add(RecordKind::run_end, 400);
  return script;
}

JobBreakdown only(const Script& script, JobId job) {
  Jobs jobs;
  static_cast<void>(script.analyze({&jobs}));
  return jobs.of(job);
}

using Bar = std::tuple<GanttBar::Kind, JobId, Instant, Instant>;

class DeviceBars final : public AnalysisObserver {
 public:
  void bar(const GanttBar& bar) override {
    if (bar.kind == GanttBar::Kind::device || bar.kind == GanttBar::Kind::preempted)
      all.emplace_back(bar.kind, bar.job, bar.begin, bar.end);
  }
  std::vector<Bar> all;
};

TEST(Preemption, ChargesGapBetweenSegmentsToPreemptingJob) {
  const Script script = preempted();
  const JobBreakdown job = only(script, rear);
  EXPECT_EQ(took(job, Cause::queueing), 10us);
  EXPECT_EQ(took(job, Cause::execution), 1us + 10us + 21us + 1us);
  EXPECT_EQ(took(job, Cause::overhead), 2us) << "from rear to front and back";
  EXPECT_EQ(sum(job), job.response);
  EXPECT_EQ(job.preemptions.count, 1u);
  ASSERT_THAT(job.preemptions.by, SizeIs(1));
  EXPECT_EQ(job.preemptions.by[0].task, 0u);
  EXPECT_EQ(job.preemptions.by[0].times, 1u);
  EXPECT_EQ(job.preemptions.by[0].time, 10us);
  const auto analysis = script.analyze();
  EXPECT_EQ(analysis.tasks[1].stages[device].times.max, 31us);
  EXPECT_EQ(analysis.tasks[1].preemptions, 1u);
  EXPECT_EQ(analysis.tasks[1].longest_segment, 10us);
  for (const TaskAnalysis& each : analysis.tasks) EXPECT_EQ(each.completed, 1u);
  EXPECT_EQ(std::ranges::find(analysis.resources, "device", &ResourceAnalysis::name)->busy, 31us + 10us);
}

TEST(Preemption, UsesRecordedExecutionTimeOfPreemptedJob) {
  Script script = preempted();
  const auto end = std::ranges::find_if(
      script.records, [](const Record& r) { return r.kind == RecordKind::device_end && r.job == rear; });
  Record executed = *end;
  executed.kind = RecordKind::device_executed;
  executed.executed = 29us;
  script.records.insert(end, executed);
  const JobBreakdown job = only(script, rear);
  EXPECT_EQ(took(job, Cause::execution), 1us + 29us + 1us);
  EXPECT_EQ(took(job, Cause::overhead), 2us + 2us);
  EXPECT_EQ(took(job, Cause::queueing), 10us);
  EXPECT_EQ(script.analyze().tasks[1].stages[device].times.max, 29us);
}

TEST(Preemption, DeviceClassOutranksDeadline) {
  Script script = two();
  script.release(rear, 0, 0);
  script.ready(rear, 1, 1);
  script.begin(rear, 1);
  script.release(front, 2, 2);
  script.ready(front, 3, 1);
  script.add(RecordKind::segment_end, rear, 11);
  script.begin(front, 11);
  script.end(front, 20);
  script.finish(front, 20, 20, 0);
  EXPECT_EQ(took(only(script, front), Cause::blocking_execution), 8us);
}

TEST(Preemption, DrawsBarPerStretchAndLineWhilePreempted) {
  const Script script = preempted();
  DeviceBars bars;
  const auto analysis = script.analyze({&bars});
  EXPECT_THAT(bars.all, ElementsAre(Bar(GanttBar::Kind::device, rear, us(1), us(11)),
                                    Bar(GanttBar::Kind::device, front, us(12), us(22)),
                                    Bar(GanttBar::Kind::preempted, rear, us(11), us(23)),
                                    Bar(GanttBar::Kind::device, rear, us(23), us(44))));
  GanttCollector collector(windows_of(analysis, 100), analysis.from);
  static_cast<void>(script.analyze({&collector}));
  const std::string picture = svg(collector.take()[0]);
  EXPECT_THAT(picture, HasSubstr("rear, job 0: preempted on the device: "));
  EXPECT_THAT(picture, HasSubstr("thin line: preempted on the device"));
}

TEST(Preemption, CountsNoPreemptionWhenSegmentsFollowEachOther) {
  Script script = two();
  script.setup.swap =
      SwapSetup{.policy = SwapPolicy::pipelined, .frames = 2, .copy_engines = 2, .chunk = Bytes{4096}, .store = "test"};
  script.release(rear, 0, 0);
  script.ready(rear, 1, 1);
  script.begin(rear, 1);
  script.move(true, {0, 7}, {0, 0, 0}, 2, 90);
  script.pause(rear, 0, 11, 13);
  script.pause(rear, 1, 33, 34);
  script.end(rear, 44, 40);
  script.finish(rear, 44, 44, 0);
  const JobBreakdown job = only(script, rear);
  EXPECT_EQ(took(job, Cause::execution), 41us);
  EXPECT_EQ(took(job, Cause::overhead), 3us);
  EXPECT_EQ(job.preemptions.count, 0u);
  DeviceBars bars;
  static_cast<void>(script.analyze({&bars}));
  EXPECT_THAT(bars.all, ElementsAre(Bar(GanttBar::Kind::device, rear, us(1), us(44))));
}

/// `front` takes the device, and leaves it before it executes.
TEST(Preemption, CountsPreemptionEvenIfThePreemptingJobDoesNotExecute) {
  Script script = two();
  script.setup.swap =
      SwapSetup{.policy = SwapPolicy::pipelined, .frames = 2, .copy_engines = 2, .chunk = Bytes{4096}, .store = "test"};
  script.release(front, 2, 2);
  script.release(rear, 0, 0);
  script.ready(rear, 1, 1);
  script.begin(rear, 1);
  script.move(true, front, {0, 0, 0}, 11, 18);
  script.add(RecordKind::segment_end, rear, 11);
  script.order(Action::Kind::start_execution, rear, {}, 19);
  script.add(RecordKind::segment_begin, rear, 20).segment = 1;
  script.pause(rear, 1, 30, 30);
  script.end(rear, 40);
  script.finish(rear, 40, 40, 0);
  const JobBreakdown job = only(script, rear);
  EXPECT_EQ(took(job, Cause::execution), 1us + 10us + 20us);
  EXPECT_EQ(took(job, Cause::queueing), 7us);
  EXPECT_EQ(took(job, Cause::overhead), 2us);
  EXPECT_EQ(job.preemptions.count, 1u);
  EXPECT_THAT(job.preemptions.by, IsEmpty());
  EXPECT_EQ(script.analyze().tasks[1].stages[device].times.max, 30us);
}

TEST(Preemption, ChargesWaitOfThirdJobToWhicheverJobExecutes) {
  Script script = preempted();
  script.setup.tasks.push_back(task("last", 1000us, 2, 2));
  script.setup.tasks.back().device_class = 2;
  const JobId last{2, 0};
  script.release(last, 2, 2);
  script.ready(last, 3, 1);
  script.begin(last, 50);
  script.end(last, 60);
  script.finish(last, 60, 60, 0);
  const JobBreakdown job = only(script, last);
  std::map<JobId, Duration> by;
  for (const Share& share : job.shares)
    if (share.culprit) by[*share.culprit] += share.time;
  EXPECT_EQ(by[rear], 8us + 21us);
  EXPECT_EQ(by[front], 10us);
  EXPECT_EQ(took(job, Cause::queueing), 39us);
}

/// A level above takes the device twice, and evicts chunks of `rear`.
TEST(Preemption, BlameNamesPreemptingTaskAndReloadedChunks) {
  Script script({task("front", 100us, 0), task("rear", 100us, 1)});
  script.setup.tasks[1].device_class = 2;
  script.setup.tasks[1].segments = 3;
  script.setup.swap =
      SwapSetup{.policy = SwapPolicy::pipelined, .frames = 2, .copy_engines = 2, .chunk = Bytes{4096}, .store = "test"};
  for (TaskSetup& each : script.setup.tasks) each.swap_slots = 2;
  script.release(rear, 0, 0);
  script.ready(rear, 1, 1);
  script.begin(rear, 1);
  script.move(true, front, {0, 0, 0}, 11, 15); // the device is idle
  top_class(script, front, 15, 25);
  for (const std::uint32_t slot : {0U, 1U}) {
    const std::int64_t at = 25 + 5 * static_cast<std::int64_t>(slot);
    script.order(Action::Kind::copy_in, rear, {1, slot, slot}, at);
    script.move(true, rear, {1, slot, slot}, at, at + 5);
  }
  script.pause(rear, 0, 11, 35);
  top_class(script, {0, 1}, 46, 100);
  script.pause(rear, 1, 45, 100);
  script.end(rear, 110);
  script.finish(rear, 110, 111, 1);
  const auto analysis = script.analyze();
  ASSERT_THAT(analysis.missed_jobs, SizeIs(1));
  const JobBreakdown& job = analysis.missed_jobs[0];
  EXPECT_EQ(took(job, Cause::swap_in), 10us);
  EXPECT_EQ(took(job, Cause::queueing), 4us + 10us + 54us);
  EXPECT_EQ(sum(job), job.response);
  EXPECT_THAT(job.blame, HasSubstr("; preempted 2 times by front, 64.0 us; reload of 2 chunks, 10.0 us"));
}

TEST(Preemption, SumsAllStretchesWhenComparingWithWcet) {
  Script script = preempted();
  script.setup.tasks[1].wcet.device = 25us;
  script.setup.tasks[1].deadline = 40us;
  std::ranges::find(script.records, rear, &Record::job)->deadline = us(40);
  const auto analysis = script.analyze();
  ASSERT_THAT(analysis.missed_jobs, SizeIs(1));
  const auto own = std::ranges::find_if(analysis.missed_jobs[0].shares, [](const Share& share) {
    return share.cause == Cause::execution && share.where == Share::Where::execution;
  });
  EXPECT_EQ(own->overrun, 6us);
  ASSERT_THAT(analysis.above_wcet, SizeIs(1));
  EXPECT_EQ(analysis.above_wcet[0].time, 31us);
  EXPECT_EQ(analysis.above_wcet[0].begin, us(1));
}

TEST(Preemption, IsReportedAsInterferenceOfTheExecution) {
  const auto analysis = preempted().analyze();
  const auto& factors = analysis.tasks[1].stages[device].factors;
  const auto neighbour = std::ranges::find(factors, Factor::neighbour, &FactorAnalysis::factor);
  ASSERT_NE(neighbour, factors.end());
  ASSERT_THAT(neighbour->groups, SizeIs(1));
  EXPECT_EQ(neighbour->groups[0].name, "preempted");
}

/// The executive reports this for a job that was withdrawn, or whose chunks were not reloaded.
TEST(Preemption, JobThatLeavesBetweenSegmentsCountsAsFailed) {
  Script script = two();
  script.release(rear, 0, 0);
  script.ready(rear, 1, 1);
  script.begin(rear, 1);
  script.add(RecordKind::segment_end, rear, 11);
  top_class(script, front, 12, 22);
  Record& left = script.add(RecordKind::device_end, rear, 23);
  left.ok = false;
  script.add(RecordKind::job_miss, rear, 25).deadline = us(400);
  script.add(RecordKind::run_end, 400);
  Jobs jobs;
  const auto analysis = script.analyze({&jobs});
  EXPECT_EQ(analysis.tasks[1].failed, 1u);
  EXPECT_EQ(analysis.tasks[1].unknown, 0u);
  EXPECT_EQ(analysis.tasks[1].stages[device].times.count, 0u);
  const JobBreakdown& job = jobs.of(rear);
  EXPECT_EQ(took(job, Cause::queueing), 10us);
  EXPECT_EQ(took(job, Cause::execution), 11us);
  EXPECT_EQ(sum(job), job.response);
}

TEST(Preemption, CountsEndedSegmentsOfUnfinishedJobAsDeviceTime) {
  const auto busy = [](Script script) {
    script.add(RecordKind::run_end, 400);
    const auto analysis = script.analyze();
    return std::ranges::find(analysis.resources, "device", &ResourceAnalysis::name)->busy;
  };
  Script script = two();
  script.release(rear, 0, 0);
  script.ready(rear, 1, 1);
  script.begin(rear, 1);
  EXPECT_EQ(busy(script), 0us);
  script.add(RecordKind::segment_end, rear, 11);
  EXPECT_EQ(busy(script), 10us);
  script.add(RecordKind::segment_begin, rear, 11).segment = 1;
  EXPECT_EQ(busy(script), 10us);
  script.add(RecordKind::segment_end, rear, 21).segment = 1;
  EXPECT_EQ(busy(script), 20us);
  top_class(script, front, 22, 32);
  script.add(RecordKind::segment_begin, rear, 33).segment = 2;
  EXPECT_EQ(busy(script), 30us);
}

TEST(Preemption, MissingOrChangedSegmentRecordMarksJobUnknown) {
  const auto of_segment = [](const Record& r) {
    return r.job == rear && (r.kind == RecordKind::segment_end || r.kind == RecordKind::segment_begin ||
                             r.kind == RecordKind::device_begin || r.kind == RecordKind::device_end);
  };
  const std::size_t records = preempted().records.size();
  std::size_t tried = 0;
  for (std::size_t gone = 0; gone < records; ++gone) {
    Script script = preempted();
    if (!of_segment(script.records[gone])) continue;
    ++tried;
    if (script.records[gone].kind != RecordKind::device_begin && script.records[gone].kind != RecordKind::device_end) {
      Script changed = script;
      ++changed.records[gone].segment;
      EXPECT_EQ(changed.analyze().tasks[1].unknown, 1u) << gone;
    }
    script.records.erase(script.records.begin() + static_cast<std::ptrdiff_t>(gone));
    EXPECT_EQ(script.analyze().tasks[1].unknown, 1u) << gone;
  }
  EXPECT_EQ(tried, 6u);
  Script none = preempted();
  std::erase_if(none.records, [](const Record& r) {
    return r.kind == RecordKind::segment_end || r.kind == RecordKind::segment_begin;
  });
  EXPECT_EQ(none.analyze().tasks[1].unknown, 1u) << "a job of three segments, of which none is told";
}

// ---- replay ----

/// Sets with one segment launched ahead.
Script two_ahead() {
  Script script = two();
  script.setup.launch_ahead = 1;
  return script;
}

Plan plan_of_two_ahead() {
  Plan plan;
  plan.launch_ahead = 1;
  plan.tasks.resize(2);
  plan.tasks[0].device_class = 0;
  plan.tasks[1].segments = 3;
  return plan;
}

/// Feeds the core with the events of two_ahead(), and records events and actions.
class Driver {
 public:
  explicit Driver(Script& script) : script_(script), scheduler_(plan_of_two_ahead()) {}
  void tell(Event::Kind kind, JobId job, std::int64_t at, std::uint32_t segment = 0) {
    const Event event{.kind = kind, .job = job, .now = us(at), .deadline = us(at + 100), .segment = segment};
    Record& input = script_.add(RecordKind::scheduler_input, at);
    input.input = event;
    input.sequence = next_;
    for (const Action& action : scheduler_.on(event)) {
      Record& decided = script_.add(RecordKind::scheduler_action, at);
      decided.action = action;
      decided.sequence = next_;
    }
    ++next_;
  }
  void request(JobId job, std::int64_t at) {
    script_.release(job, at - 1, at - 1);
    script_.ready(job, at, 1);
    script_.add(RecordKind::device_request, job, at).deadline = us(at + 100);
    tell(Event::Kind::job_requested, job, at);
  }

 private:
  Script& script_;
  policies::DeviceScheduler scheduler_;
  std::uint64_t next_ = 0;
};

/// Returns a run of `rear` with one segment launched ahead. `front` comes during its first segment. `rear` is withdrawn
/// while `front` has the device.
Script withdrawn() {
  Script script = two_ahead();
  Driver driver(script);
  driver.request(rear, 2);
  script.begin(rear, 3);
  driver.request(front, 5);
  script.pause(rear, 0, 11, 11);
  driver.tell(Event::Kind::segment_done, rear, 11, 0);
  script.add(RecordKind::segment_end, rear, 21).segment = 1;
  driver.tell(Event::Kind::segment_done, rear, 21, 1);
  script.begin(front, 22);
  driver.tell(Event::Kind::job_withdrawn, rear, 25);
  script.add(RecordKind::device_end, rear, 26).ok = false;
  script.end(front, 30);
  driver.tell(Event::Kind::execution_done, front, 30);
  script.finish(front, 30, 31, 1);
  script.add(RecordKind::job_abort, rear, 32);
  script.add(RecordKind::job_miss, rear, 32).deadline = us(401);
  script.add(RecordKind::run_end, 400);
  return script;
}

TEST(PreemptionReplay, AgreesWhenSegmentsAreLaunchedAheadAndAJobIsWithdrawn) {
  const auto replay = withdrawn().analyze().replay;
  EXPECT_EQ(replay.difference, "");
  EXPECT_EQ(replay.not_replayed, "");
  EXPECT_TRUE(replay.complete);
  EXPECT_EQ(replay.inputs, 6u);
}

/// The engine reports that a segment failed before the core learns of the end of the previous one and launches one
/// more.
TEST(PreemptionReplay, AgreesWhenAnotherSegmentIsLaunchedAfterFailure) {
  Script script = two_ahead();
  Driver driver(script);
  driver.request(rear, 2);
  script.begin(rear, 3);
  script.pause(rear, 0, 11, 11);
  script.add(RecordKind::device_end, rear, 12).ok = false;
  driver.tell(Event::Kind::segment_done, rear, 11, 0);
  driver.tell(Event::Kind::execution_done, rear, 12, 1);
  script.add(RecordKind::job_abort, rear, 13);
  script.add(RecordKind::job_miss, rear, 13).deadline = us(401);
  script.add(RecordKind::run_end, 400);
  const auto replay = script.analyze().replay;
  EXPECT_EQ(replay.difference, "");
  EXPECT_EQ(replay.not_replayed, "");
  EXPECT_TRUE(replay.complete);
}

TEST(PreemptionReplay, ReportsChangedSegmentsAndSchedulerActions) {
  const auto difference = [](auto change) {
    Script script = withdrawn();
    for (Record& record : script.records)
      if (change(record)) return script.analyze().replay.difference;
    return std::string("nothing to change");
  };
  const auto segment = [](RecordKind kind) {
    return [kind](Record& record) { return record.kind == kind && ++record.segment > 0; };
  };
  EXPECT_THAT(difference(segment(RecordKind::segment_begin)), HasSubstr("the engine begins one for job 0 of rear"));
  EXPECT_THAT(difference(segment(RecordKind::segment_end)), HasSubstr("the recorded end is for job 0 of rear"));
  EXPECT_THAT(difference([](Record& record) {
                return record.kind == RecordKind::scheduler_input && record.input.kind == Event::Kind::segment_done &&
                       ++record.input.segment > 0;
              }),
              HasSubstr("its engine recorded 'segment-done job 0 of rear, segment 0 at 11000 ns'"));
  EXPECT_THAT(difference([](Record& record) {
                return record.kind == RecordKind::scheduler_action && ++record.action.committed > 0;
              }),
              HasSubstr("'start-execution job 0 of rear and 2 behind it' is recorded, but the scheduler does "
                        "'start-execution job 0 of rear and 1 behind it'"));
  Script deeper = withdrawn();
  deeper.setup.launch_ahead = 0;
  EXPECT_THAT(deeper.analyze().replay.difference, HasSubstr("but the scheduler does 'start-execution job 0 of rear'"));
}

} // namespace
} // namespace rtexec::traces
