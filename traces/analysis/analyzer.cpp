#include "traces/analysis/analyzer.hpp"

#include "policies/scheduler/swap_rule.hpp"
#include "traces/analysis/blame.hpp"
#include "traces/analysis/loading.hpp"
#include "traces/analysis/promise.hpp"

#include <algorithm>

namespace rtexec::traces {
namespace {

using policies::Action;
using policies::JobId;

constexpr std::uint64_t forget_every = 16; // number of ended jobs after which old history is discarded again
// The assumed maximum delay between an instant and the event in which a thread reports the instant, and the assumed
// maximum length of a job.
constexpr Duration late_telling = std::chrono::seconds(1), longest_job = std::chrono::minutes(1);
constexpr Duration longest_time = std::chrono::hours(24 * 365 * 50);

using Step = std::optional<Instant> JobProgress::*;
constexpr Step steps[]{&JobProgress::start, &JobProgress::cpu_end, &JobProgress::device_begin, &JobProgress::device_end,
                       &JobProgress::after_begin};

/// True if a completed job has an instant for every step, and the instants are in order.
bool in_order(const JobProgress& job, Instant end) {
  Instant last = job.nominal;
  for (const Step step : steps) {
    if (!(job.*step) || *(job.*step) < last) return false;
    last = *(job.*step);
  }
  return last <= end;
}

/// Records a step of a job. Each step must occur once, after the previous step; otherwise the job's events contradict
/// each other.
void take_step(TaskStatistics& task, Step step, Instant at) {
  JobProgress& job = *task.open;
  const auto* place = std::ranges::find(steps, step);
  task.contradicted = task.contradicted || job.*step || (place != std::begin(steps) && !(job.**std::prev(place)));
  job.*step = at;
}

/// True if the record comes from a damaged recording: sums of its instants or lengths would overflow.
bool absurd(const Record& record) {
  const auto beyond = [](Duration time) { return time > longest_time || time < -longest_time; };
  return beyond(record.at.time_since_epoch()) || beyond(record.nominal.time_since_epoch()) ||
         beyond(record.sampled.time_since_epoch()) || beyond(record.deadline.time_since_epoch()) ||
         beyond(record.input.now.time_since_epoch()) || beyond(record.input.deadline.time_since_epoch()) ||
         beyond(record.executed) || beyond(record.response) || beyond(record.stolen);
}

/// Returns the number of segments into which the scheduler core divides the task's device part. It is 1 if the swap
/// policy does not schedule segments, or if jobs co-run (execute concurrently on the device).
std::uint32_t segments_of(const RunSetup& setup, std::uint32_t task) {
  const bool divided = !setup.swap || policies::rule_of(setup.swap->policy) == policies::SwapRule::pipelined;
  return divided && !setup.co_runs() ? setup.tasks[task].segments : 1;
}

auto is_of(JobId job) {
  return [job](const Execution& each) { return each.of.job == job; };
}

} // namespace

void Analyzer::start() {
  started_ = true;
  lanes_ = lanes_of(setup_);
  for (const TaskSetup& task : setup_.tasks) tasks_.emplace_back(task);
  for (std::size_t i = tasks_.size(); i < lanes_.size(); ++i) resources_.push_back({.name = lanes_[i].name});
  on_device_.resize(tasks_.size());
  chained_.resize(tasks_.size());
  for (const ChainSetup& chain : setup_.chains) {
    if (!chain.places.empty()) chains_.emplace_back(chain);
    for (const ChainSetup::Member& place : chain.places)
      if (place.task < chained_.size()) chained_[place.task] = chain.communicate;
  }
  surroundings_.emplace(setup_);
  replay_.emplace(setup_);
  for (AnalysisObserver* observer : observers_) {
    observer->setup(setup_);
    show_loading(setup_, lanes_, *observer);
  }
}

void Analyzer::record(const Record& record) {
  if (record.kind == RecordKind::other || (cut_ && record.time >= *cut_) || absurd(record)) return;
  if (!started_) start();
  written_ = record.time;
  replay_->see(record);
  take(record);
}

void Analyzer::loss(const Loss& loss) {
  if (loss.to == Instant::max() && loss.from != Instant::min()) cut_ = std::min(cut_.value_or(loss.from), loss.from);
  else losses_.push_back(loss);
  stream_missing_ = stream_missing_ || (loss.from == Instant::min() && loss.to == Instant::max());
}

void Analyzer::take(const Record& record) {
  switch (record.kind) {
  case RecordKind::job_release: return release(record);
  case RecordKind::job_start: return begin_part(record, &JobProgress::start);
  case RecordKind::job_input:
    if (JobProgress* job = progress(record)) tasks_[record.job.task].input(record, *job);
    return;
  case RecordKind::cpu_end: return end_part(record, Part::before);
  case RecordKind::device_begin: return begin_execution(record);
  case RecordKind::segment_end: return end_segment(record);
  case RecordKind::segment_begin: return begin_segment(record);
  case RecordKind::device_executed: return note_executed(record);
  case RecordKind::device_end: return end_execution(record);
  case RecordKind::after_begin: return begin_part(record, &JobProgress::after_begin);
  case RecordKind::result_drop:
    if (progress(record) != nullptr) tasks_[record.job.task].dropped_results += record.sinks;
    return;
  case RecordKind::job_end:
    if (const JobProgress* job = progress(record); job != nullptr && record.response != record.at - job->nominal)
      tasks_[record.job.task].contradicted = true;
    end_part(record, Part::after);
    return conclude(record, JobOutcome::in_time);
  case RecordKind::job_miss: return miss(record);
  case RecordKind::job_abort: return conclude(record, JobOutcome::aborted);
  case RecordKind::job_skip:
    if (TaskStatistics* task = statistics_of(record.job.task)) task->skip(record.nominal, record.reason);
    return mark(GanttMark::Kind::dropped, record.job, record.nominal);
  case RecordKind::swap_in_begin: return begin_transfer(record, Direction::in);
  case RecordKind::swap_in_end: return end_transfer(record, Direction::in);
  case RecordKind::swap_out_begin: return begin_transfer(record, Direction::out);
  case RecordKind::swap_out_end: return end_transfer(record, Direction::out);
  case RecordKind::scheduler_input: decision_ = record.input; return see_memory(decision_.now);
  case RecordKind::scheduler_action:
    if (record.action.co_running) co_running_ = record.action.job;
    if (record.action.kind == policies::Action::Kind::start_execution) see_start(record.action.job);
    return expect_transfer(record.action);
  case RecordKind::throttle_begin:
    if (lane_of(GanttLane::Kind::core, record.core) < lanes_.size())
      timeline_.cores[record.core].throttles.open({}, record.at);
    return;
  case RecordKind::throttle_end: return end_throttle(record);
  case RecordKind::layer_begin:
  case RecordKind::layer_end: return layer(record);
  case RecordKind::run_end:
    ended_ = true;
    to_ = std::max(to_, record.at);
    return;
  case RecordKind::device_request: return request(record);
  case RecordKind::core_clock:
  case RecordKind::device_clock: return surroundings_->see_clock(record);
  case RecordKind::core_stolen: return surroundings_->see_theft(record);
  case RecordKind::job_overrun:
  case RecordKind::device_fault:
  case RecordKind::bandwidth_budget:
  case RecordKind::other: return;
  }
}

// ---- progress of a job ----

JobProgress* Analyzer::progress(const Record& record) {
  to_ = std::max(to_, record.at);
  TaskStatistics* task = statistics_of(record.job.task);
  if (task == nullptr) return nullptr;
  if (task->open && task->open->urgency.job == record.job) return &*task->open;
  task->count_unexpected(record.job);
  return nullptr;
}

void Analyzer::release(const Record& record) {
  if (!std::exchange(released_, true))
    for (auto& pending : pending_) pending.clear(); // transfers of the warm-up
  if (!from_) from_ = record.nominal;
  to_ = std::max(to_, record.at);
  TaskStatistics* task = statistics_of(record.job.task);
  if (task == nullptr) return;
  forget_unanswered(*task, false);
  task->release(record.job, record.nominal, record.at, record.deadline);
  task->open_written = record.time;
  task->contradicted = record.deadline != record.nominal + task->setup().deadline;
  mark(GanttMark::Kind::release, record.job, record.nominal);
  mark(GanttMark::Kind::deadline, record.job, record.deadline);
}

void Analyzer::begin_part(const Record& record, std::optional<Instant> JobProgress::*milestone) {
  JobProgress* job = progress(record);
  if (job == nullptr) return;
  TaskStatistics& task = tasks_[record.job.task];
  take_step(task, milestone, record.at);
  task.contradicted = task.contradicted || task.device_failed;
  timeline_.cores[job->core].parts.open({record.job, job->core_rank}, record.at);
}

void Analyzer::end_part(const Record& record, Part which) {
  TaskStatistics* task = statistics_of(record.job.task);
  JobProgress* job = progress(record);
  if (job == nullptr) return;
  const bool first = which == Part::before;
  if (first) take_step(*task, &JobProgress::cpu_end, record.at);
  // a device part of zero length
  if (first && !task->setup().wcet.uses_device()) job->device_begin = job->device_end = record.at;
  (first ? job->executed_before : job->executed_after) = record.executed;
  (first ? task->before : task->after).add(record.executed, record.job.number, record.at);
  const auto* part =
      timeline_.cores[job->core].parts.close([&](const CorePart& each) { return each.job == record.job; }, record.at);
  if (part == nullptr) return;
  surroundings_->add({record.job, which, job->core, part->begin, part->end, record.executed}, timeline_);
  const std::size_t lane = lane_of(GanttLane::Kind::core, job->core);
  count(lane, record.executed, part->end - part->begin);
  bar(first ? GanttBar::Kind::before : GanttBar::Kind::after, lane, record.job, record.job.task, part->begin,
      part->end);
}

void Analyzer::request(const Record& record) {
  if (const JobProgress* job = progress(record);
      job != nullptr && (record.at != job->cpu_end || record.deadline != job->urgency.deadline))
    tasks_[record.job.task].contradicted = true;
}

void Analyzer::begin_execution(const Record& record) {
  if (statistics_of(record.job.task) == nullptr) return;
  if (progress(record)) take_step(tasks_[record.job.task], &JobProgress::device_begin, record.at);
  on_device_[record.job.task] = DevicePart{.job = record.job, .begin = record.at, .segment_begin = record.at};
  open_execution(record);
}

void Analyzer::open_execution(const Record& record) {
  leave_device();
  auto& executions = timeline_.executions;
  // Keeps open at most as many executions as may co-run with this execution. Older executions have ended, but their
  // ends were not recorded
  executions.forget_open(setup_.co_runs() ? 1 : 0);
  executions.open({.of = urgency(record.job), .executed = {}, .co_running = co_running_ == record.job}, record.at);
}

Analyzer::DevicePart* Analyzer::part_on_device(JobId job) {
  if (job.task >= on_device_.size()) return nullptr;
  auto& part = on_device_[job.task];
  return part && part->job == job ? &*part : nullptr;
}

void Analyzer::end_segment(const Record& record) {
  const auto* interval = timeline_.executions.close(is_of(record.job), record.at);
  DevicePart* part = part_on_device(record.job);
  JobProgress* job = progress(record);
  const bool expected = interval != nullptr && part != nullptr && part->segment == record.segment;
  if (job != nullptr && expected) job->pauses.push_back({record.at, {}});
  if (job != nullptr && !expected) tasks_[record.job.task].contradicted = true;
  if (interval == nullptr) return;
  interrupted_ = *interval;
  if (part != nullptr) note_segment(*part, record.at);
}

void Analyzer::begin_segment(const Record& record) {
  if (statistics_of(record.job.task) == nullptr) return;
  DevicePart* part = part_on_device(record.job);
  JobProgress* job = progress(record);
  const bool paused = job != nullptr && !job->pauses.empty() && !job->pauses.back().end;
  if (job != nullptr && (!paused || part == nullptr || part->segment + 1 != record.segment))
    tasks_[record.job.task].contradicted = true;
  const bool goes_on = interrupted_ && interrupted_->what.of.job == record.job;
  if (goes_on) timeline_.executions.reopen(*std::exchange(interrupted_, {}));
  else open_execution(record);
  if (part != nullptr) {
    if (!goes_on)
      bar(GanttBar::Kind::preempted, lane_of(GanttLane::Kind::device), record.job, record.job.task, part->left,
          record.at);
    part->segment = record.segment;
    part->segment_begin = record.at;
  }
  if (!paused) return;
  if (goes_on) job->pauses.pop_back();
  else job->pauses.back().end = record.at;
}

/// Records the length of a segment, if the device part has several segments.
void Analyzer::note_segment(const DevicePart& part, Instant end) {
  Duration& longest = tasks_[part.job.task].longest_segment;
  longest = std::max(longest, end - part.segment_begin);
}

void Analyzer::end_stretch(const History<Execution>::Entry& interval) {
  const std::size_t device = lane_of(GanttLane::Kind::device, interval.what.co_running ? 1 : 0);
  const JobId job = interval.what.of.job;
  const Duration passed = interval.end - interval.begin;
  count(device, passed, passed);
  bar(GanttBar::Kind::device, device, job, job.task, interval.begin, interval.end);
  DevicePart* part = part_on_device(job);
  if (part == nullptr) return;
  part->held += passed;
  part->left = interval.end;
}

/// Ends the device interval of an interrupted job that does not continue at once.
void Analyzer::leave_device() {
  if (interrupted_) end_stretch(*std::exchange(interrupted_, {}));
}

/// Processes the start of an execution. The job of the segment that ended last has left the device unless it continues
/// at once, even if no other job executed in between.
void Analyzer::see_start(JobId job) {
  const bool goes_on = decision_.kind == policies::Event::Kind::segment_done && decision_.job == job;
  if (interrupted_ && interrupted_->what.of.job == job && !goes_on) leave_device();
}

/// Ends the device intervals that are open at the end of the recording, at the end of their last complete segment.
void Analyzer::cut_off_device() {
  leave_device();
  for (const auto& part : on_device_) {
    if (!part) continue;
    const auto* interval = timeline_.executions.close(is_of(part->job), part->segment_begin);
    if (interval != nullptr && interval->begin < interval->end) end_stretch(*interval);
  }
}

void Analyzer::note_executed(const Record& record) {
  if (auto* execution = timeline_.executions.find_open(is_of(record.job))) execution->executed = record.executed;
}

/// Ends a device part. The part may also end between two segments.
void Analyzer::end_execution(const Record& record) {
  auto* interval = timeline_.executions.close(is_of(record.job), record.at);
  JobProgress* job = progress(record);
  if (interval != nullptr) end_stretch(*interval);
  else if (interrupted_ && interrupted_->what.of.job == record.job) leave_device();
  const DevicePart* part = part_on_device(record.job);
  if (part == nullptr || (interval == nullptr && record.ok)) return;
  TaskStatistics& task = tasks_[record.job.task];
  const std::uint32_t segments = segments_of(setup_, record.job.task);
  const std::optional<Duration> told = interval != nullptr ? interval->what.executed : std::nullopt;
  if (job != nullptr) {
    take_step(task, &JobProgress::device_end, record.at);
    task.device_failed = !record.ok;
    task.left_between = interval == nullptr;
    task.contradicted = task.contradicted || told > part->held || (record.ok && part->segment + 1 != segments);
    job->executed_on_device = told;
    if (interval == nullptr && !job->pauses.empty()) job->pauses.back().end = record.at;
  }
  const Duration took = told.value_or(part->held);
  const PartExecution whole{record.job, Part::device, 0, part->begin, record.at, took};
  if (record.ok) {
    interval->what.executed = took;
    if (segments > 1) note_segment(*part, record.at);
    task.device.add(took, record.job.number, record.at);
    surroundings_->add(whole, timeline_);
  } else surroundings_->add_failed(whole);
  on_device_[record.job.task].reset();
}

void Analyzer::conclude(const Record& record, JobOutcome outcome) {
  JobProgress* job = progress(record);
  if (job == nullptr) return;
  if (outcome == JobOutcome::in_time && record.at > job->deadline) outcome = JobOutcome::late;
  conclude(tasks_[record.job.task], outcome, record.at, record.time);
}

/// Processes the record of a missed deadline. A late or aborted job has already ended, and the record only confirms the
/// miss. Any other job ends with this record: the job has failed.
void Analyzer::miss(const Record& record) {
  TaskStatistics* task = statistics_of(record.job.task);
  if (task != nullptr && task->take_miss(record.job, record.at, record.deadline)) return;
  if (const JobProgress* job = progress(record); job != nullptr && record.deadline != job->deadline)
    task->contradicted = true;
  conclude(record, JobOutcome::failed);
}

/// Closes the open job of a task, whose end is missing from the recording. The job counts as unfinished if the end of
/// the recording or of the run cut the job off, otherwise as unknown.
void Analyzer::forget_unanswered(TaskStatistics& task, bool cut_off) {
  if (!task.open) return;
  leave_core(*task.open, to_);
  task.losses_meanwhile += affected(task.open_written, written_);
  // The executive lets a running execution end; the simulator aborts the execution
  const bool withdrawn = ended_ && (setup_.simulated || !task.open->device_begin || task.left_between);
  ++((cut_off || withdrawn) && !task.contradicted ? task.unfinished : task.unknown);
  task.forget_open();
}

void Analyzer::conclude(TaskStatistics& task, JobOutcome outcome, Instant end, Instant written) {
  const JobProgress job = *task.open;
  task.losses_meanwhile += affected(task.open_written, written);
  const bool completed = outcome == JobOutcome::in_time || outcome == JobOutcome::late;
  const bool contradicted = task.contradicted || (completed && !in_order(job, end));
  task.forget_open();
  leave_core(job, end);
  if (outcome == JobOutcome::late || outcome == JobOutcome::aborted)
    task.miss_due = {job.urgency.job, end, job.deadline};
  if (contradicted) return void(++task.unknown);
  JobBreakdown breakdown = attribution_.divide(job, end, timeline_);
  breakdown.outcome = outcome;
  note_overruns(breakdown, job);
  for (AnalysisObserver* observer : observers_) observer->job(breakdown);
  bar(GanttBar::Kind::response, breakdown.job.task, breakdown.job, breakdown.job.task, job.nominal, end);
  if (completed) follow(job, breakdown, end);
  if (outcome != JobOutcome::in_time) {
    mark(GanttMark::Kind::miss, breakdown.job, end);
    keep_miss(breakdown);
  }
  task.end(std::move(breakdown), end);
  if (++jobs_ % forget_every == 0) forget();
}

/// Ends the CPU part of a job that has ended, if the recording has no end of that part.
void Analyzer::leave_core(const JobProgress& job, Instant at) {
  timeline_.cores[job.core].parts.close([&](const CorePart& each) { return each.job == job.urgency.job; }, at);
}

/// Passes a job to the chains. With Communication::immediate the job reads when it begins, and its outputs appear when
/// it ends. With Communication::let (logical execution time) the job reads at its release, and its outputs appear at
/// its deadline.
void Analyzer::follow(const JobProgress& job, const JobBreakdown& breakdown, Instant end) {
  const JobId id = job.urgency.job;
  if (!chained_[id.task]) return;
  ChainStep step{.job = id,
                 .there = {},
                 .nominal = job.nominal,
                 .read = job.nominal,
                 .ended = end,
                 .output = std::max(job.deadline, end),
                 .sampled = job.sampled.value_or(*job.start),
                 .delays = {},
                 .shares = {}};
  if (*chained_[id.task] == Communication::let) {
    step.shares = breakdown.shares;
  } else {
    JobProgress begun = job;
    begun.nominal = *job.start;
    begun.before_it.reset();
    step.read = *job.start;
    step.output = end;
    step.delays = attribution_.divide(job, *job.start, timeline_).shares;
    step.shares = attribution_.divide(begun, end, timeline_).shares;
  }
  for (ChainFollower& chain : chains_) chain.add(step);
}

/// Records in each share by how much the execution of its culprit, or of the job itself, exceeded the WCET.
void Analyzer::note_overruns(JobBreakdown& job, const JobProgress& progress) const {
  if (job.outcome == JobOutcome::in_time) return;
  for (Share& share : job.shares) {
    if (share.where != Share::Where::execution || share.cause == Cause::overhead) continue;
    const JobId whose = share.culprit.value_or(job.job);
    timeline_.executions.overlapping(progress.nominal, Instant::max(), [&](const auto& execution) {
      if (execution.what.of.job != whose || execution.end == Instant::max() || !execution.what.executed) return;
      share.overrun = std::max(Duration(0), *execution.what.executed - tasks_[whose.task].setup().longest_on_device());
    });
  }
}

void Analyzer::keep_miss(const JobBreakdown& job) {
  ++misses_;
  if (missed_jobs_.size() < Analysis::max_misses) missed_jobs_.push_back(job);
}

/// Discards the history that no job in progress needs.
void Analyzer::forget() {
  Instant oldest = to_;
  for (const TaskStatistics& task : tasks_)
    if (task.open) oldest = std::min(oldest, task.open->nominal);
  timeline_.forget_before(oldest);
  take_chains(oldest);
}

/// Lets the chains process all reads and outputs that are earlier than any read or output that a job in progress can
/// still report.
void Analyzer::take_chains(Instant oldest) {
  const Instant until = std::max(std::min(oldest, to_ - late_telling), to_ - longest_job);
  for (ChainFollower& chain : chains_) chain.take_before(until);
}

void Analyzer::layer(const Record& record) {
  TaskStatistics* task = statistics_of(record.job.task);
  // Layers may be recorded after the job's end; such records have no effect
  if (task == nullptr || !task->open || task->open->urgency.job != record.job) return;
  if (record.kind == RecordKind::layer_begin) {
    task->layer_begun = record.at;
    return;
  }
  const std::size_t known = setup_.tasks[record.job.task].layers.size();
  if (!task->layer_begun || record.layer >= known) return;
  task->layers.resize(known);
  task->layers[record.layer].times.add(record.at - *task->layer_begun, record.job.number, record.at);
  task->layer_begun.reset();
}

Urgency Analyzer::urgency(JobId job) const {
  if (job.task >= tasks_.size()) return {.device_class = 0, .rank = 0, .deadline = Instant::min(), .job = job};
  const TaskStatistics& task = tasks_[job.task];
  if (task.latest.job == job) return task.latest;
  return {.device_class = task.setup().device_class, // an earlier job, whose deadline is not stored
          .rank = task.setup().device_rank,
          .deadline = Instant::min(),
          .job = job};
}

// ---- end of the recording ----

bool Analyzer::affected(Instant from, Instant to) const {
  return std::ranges::any_of(losses_, [&](const Loss& loss) { return loss.from <= to && loss.to >= from; });
}

Analysis Analyzer::finish(const ReadSummary& read) {
  if (!started_) start();
  cut_off_device();
  for (TaskStatistics& task : tasks_) {
    forget_unanswered(task, !ended_);
    if (ended_) task.end_run();
  }
  Analysis analysis;
  analysis.setup = setup_;
  analysis.events = read.events;
  analysis.lost_events = read.lost.events;
  analysis.lost_packets = read.lost.packets;
  analysis.ended = ended_;
  analysis.notes = read.notes;
  analysis.host = read.host;
  analysis.began = read.began;
  analysis.from = from_.value_or(to_);
  analysis.to = std::max(to_, analysis.from);
  const Duration recorded = analysis.to - analysis.from;
  for (std::uint32_t i = 0; i < tasks_.size(); ++i) {
    const TaskStatistics& task = tasks_[i];
    analysis.tasks.push_back(task.analysis(pwcet_, recorded));
    analysis.tasks.back().contents = contents_of(task.setup());
    for (const Part part : {Part::before, Part::device, Part::after})
      analysis.tasks.back().stages[static_cast<std::size_t>(part)].factors = surroundings_->factors_of(i, part);
    analysis.tasks.back().invalid = why_invalid(analysis.tasks.back(), task.losses_meanwhile, stream_missing_);
  }
  finish_resources(analysis, recorded);
  finish_chains(analysis);
  analysis.misses = misses_;
  analysis.missed_jobs = std::move(missed_jobs_);
  explain_jobs(analysis);
  analysis.replay = replay_->finish(ended_ && losses_.empty() && !cut_, !losses_.empty());
  analysis.breaches = breaches(analysis);
  analysis.clocks = surroundings_->clocks();
  analysis.stolen = surroundings_->stolen();
  analysis.excesses = surroundings_->excesses();
  analysis.above_wcet = surroundings_->above_wcet();
  return analysis;
}

void Analyzer::finish_resources(Analysis& analysis, Duration recorded) const {
  analysis.resources = resources_;
  for (ResourceAnalysis& resource : analysis.resources)
    resource.utilisation =
        recorded > Duration(0) ? static_cast<double>(resource.busy.count()) / static_cast<double>(recorded.count()) : 0;
  if (!setup_.swap) return;
  analysis.swap = swap_;
  analysis.swap->in_times = in_times_.distribution();
  analysis.swap->out_times = out_times_.distribution();
}

void Analyzer::finish_chains(Analysis& analysis) {
  for (ChainFollower& chain : chains_) {
    ChainAnalysis& found = analysis.chains.emplace_back(chain.finish(tasks_));
    for (const ChainSetup::Member& place : found.setup.places) {
      if (place.task >= analysis.tasks.size() || analysis.tasks[place.task].invalid.empty()) continue;
      found.invalid = "those of " + analysis.tasks[place.task].setup.name + " are";
      break;
    }
  }
}

void Analyzer::explain_jobs(Analysis& analysis) {
  for (JobBreakdown& job : analysis.missed_jobs) explain(job, tasks_);
  for (TaskAnalysis& task : analysis.tasks)
    if (task.worst) explain(*task.worst, tasks_);
}

} // namespace rtexec::traces
