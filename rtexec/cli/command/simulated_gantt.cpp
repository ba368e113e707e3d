#include "rtexec/cli/command/simulated_gantt.hpp"

#include "config/names.hpp"

#include <algorithm>
#include <set>

namespace rtexec::command {

using policies::Action;
using policies::JobId;
using simulator::Step;
using simulator::TimeInterval;
using traces::GanttLane;

GanttRecorder::GanttRecorder(const TaskSet& tasks, const Plan& plan, Instant from, Instant to)
    : tasks_(tasks), plan_(plan), jobs_(tasks.tasks.size()), left_(tasks.tasks.size()) {
  seen_.title = "a simulated run";
  if (!tasks.file.empty()) seen_.title += " of " + tasks.file.filename().string();
  seen_.from = from;
  seen_.to = to;
  name_lanes();
  if (!plan.swap) return;
  seen_.title += ", swap policy " + std::string(spelling(plan.swap->policy));
  seen_.memory_capacity = plan.swap->frames * plan.chunk.count;
  const policies::DeviceScheduler start(plan);
  chunks_ = plan.swap->frames - start.state().free.size();
  seen_.memory.push_back({from, chunks_ * plan.chunk.count});
}

void GanttRecorder::name_lanes() {
  std::set<unsigned> cores;
  for (std::uint32_t task = 0; task < tasks_.tasks.size(); ++task) {
    seen_.tasks.push_back(tasks_.tasks[task].name);
    seen_.lanes.push_back({GanttLane::Kind::task, task, tasks_.tasks[task].name});
    if (plan_.tasks[task].wcet.before + plan_.tasks[task].wcet.after > Duration(0))
      cores.insert(plan_.tasks[task].core);
  }
  for (const unsigned core : cores)
    seen_.lanes.push_back({GanttLane::Kind::core, core, "core " + std::to_string(core)});
  device_ = static_cast<std::uint32_t>(seen_.lanes.size());
  seen_.lanes.push_back({GanttLane::Kind::device, 0, "device"});
  if (plan_.co_runs()) seen_.lanes.push_back({GanttLane::Kind::device, 1, "beside"});
  if (!plan_.swap) return;
  seen_.lanes.push_back({GanttLane::Kind::copy_in, 0, "copies in"});
  seen_.lanes.push_back({GanttLane::Kind::copy_out, 0, "copies out"});
}

std::uint32_t GanttRecorder::lane_of_core(unsigned core) const {
  const auto is = [=](const GanttLane& lane) { return lane.kind == GanttLane::Kind::core && lane.index == core; };
  return static_cast<std::uint32_t>(std::ranges::find_if(seen_.lanes, is) - seen_.lanes.begin());
}

/// True if the chart can hold more items. Otherwise the chart ends.
bool GanttRecorder::room() const { return seen_.bars.size() + seen_.marks.size() + seen_.memory.size() < max_marks; }

void GanttRecorder::add(const Bar& bar) {
  if (bar.end <= seen_.from || bar.begin >= seen_.to) return;
  if (room()) seen_.bars.push_back(bar);
  else seen_.to = std::min(seen_.to, bar.begin);
}

void GanttRecorder::mark(Mark::Kind kind, JobId job, Instant at) {
  if (at < seen_.from || at > seen_.to) return;
  if (room()) seen_.marks.push_back({kind, job, at});
  else seen_.to = std::min(seen_.to, at);
}

/// Records that the number of chunks in use changes by one at the instant `at`.
void GanttRecorder::in_use(Instant at, bool more) {
  chunks_ += more ? 1 : std::uint64_t(0) - 1;
  const std::uint64_t bytes = chunks_ * plan_.chunk.count;
  if (at > seen_.to) return;
  if (at <= seen_.from) seen_.memory.front().bytes = bytes;
  else if (room()) seen_.memory.push_back({at, bytes});
  else seen_.to = std::min(seen_.to, at);
}

GanttRecorder::Bar GanttRecorder::bar_of(Bar::Kind kind, const Open& open, Instant end) const {
  const std::uint32_t lane = kind == Bar::Kind::response ? open.job.task
                             : kind == Bar::Kind::device || kind == Bar::Kind::preempted
                                 ? device_ + (open.co_running ? 1 : 0)
                                 : device_ + (kind == Bar::Kind::swap_in ? 1 : 2);
  return {.kind = kind, .lane = lane, .job = open.job, .owner = open.owner, .begin = open.since, .end = end};
}

void GanttRecorder::see(const TimeInterval& interval) {
  const auto& job = jobs_[interval.job.task];
  add({.kind = job && job->device_done ? Bar::Kind::after : Bar::Kind::before,
       .lane = lane_of_core(interval.core),
       .job = interval.job,
       .owner = interval.job.task,
       .begin = interval.begin,
       .end = interval.end});
}

void GanttRecorder::see(const Step& step) {
  const std::uint32_t task = step.job.task;
  switch (step.kind) {
  case Step::Kind::release:
    jobs_[task] = Open{.job = step.job, .since = step.nominal, .owner = task};
    mark(Mark::Kind::release, step.job, step.nominal);
    return mark(Mark::Kind::deadline, step.job, step.nominal + tasks_.tasks[task].deadline);
  case Step::Kind::skip: return mark(Mark::Kind::dropped, step.job, step.nominal);
  case Step::Kind::resumption:
    if (left_[task]) add(bar_of(Bar::Kind::preempted, *std::exchange(left_[task], {}), step.now));
    [[fallthrough]];
  case Step::Kind::execution_start: {
    const bool co_running = executions_[0].has_value();
    executions_[co_running] = Open{.job = step.job, .since = step.now, .owner = task, .co_running = co_running};
    return;
  }
  case Step::Kind::preemption:
    add(bar_of(Bar::Kind::device, *executions_[0], step.now));
    left_[task] = Open{.job = step.job, .since = step.now, .owner = task};
    return executions_[0].reset();
  case Step::Kind::hand_on:
    if (jobs_[task]) jobs_[task]->device_done = true;
    return;
  case Step::Kind::execution_end: {
    auto& execution = executions_[executions_[0] && executions_[0]->job == step.job ? 0 : 1];
    add(bar_of(Bar::Kind::device, *execution, step.now));
    if (jobs_[task]) jobs_[task]->device_done = true;
    return execution.reset();
  }
  case Step::Kind::transfer_begin:
  case Step::Kind::transfer_end: return transfer(step);
  case Step::Kind::completion:
  case Step::Kind::abort:
  case Step::Kind::fail: return end_job(step);
  case Step::Kind::request:
  case Step::Kind::segment_end:
  case Step::Kind::segment_begin:
  case Step::Kind::stop: return;
  }
}

/// Records the begin or the end of a copy. A chunk is in use from the begin of a copy to the device until the end of
/// a copy from the device.
void GanttRecorder::transfer(const Step& step) {
  const bool in = step.action.kind == Action::Kind::copy_in;
  auto& copy = copies_[in];
  if (step.kind == Step::Kind::transfer_begin) {
    copy = Open{.job = step.job, .since = step.now, .owner = step.action.transfer.task};
    if (in) in_use(step.now, true);
    return;
  }
  add(bar_of(in ? Bar::Kind::swap_in : Bar::Kind::swap_out, *copy, step.now));
  if (in == step.failed) in_use(step.now, false);
  copy.reset();
}

void GanttRecorder::end_job(const Step& step) {
  const std::uint32_t task = step.job.task;
  if (!jobs_[task]) return;
  const bool late = step.kind != Step::Kind::completion || step.now - step.nominal > tasks_.tasks[task].deadline;
  add(bar_of(Bar::Kind::response, *jobs_[task], step.now));
  if (late) mark(Mark::Kind::miss, step.job, step.now);
  jobs_[task].reset();
}

traces::Gantt GanttRecorder::gantt(Instant end) const {
  traces::Gantt result = seen_;
  result.to = std::max(std::min(seen_.to, end), seen_.from + Duration(1));
  const auto open = [&](Bar::Kind kind, const std::optional<Open>& what) {
    if (what) result.bars.push_back(bar_of(kind, *what, result.to));
  };
  for (std::size_t task = 0; task < jobs_.size(); ++task) {
    const auto& job = jobs_[task];
    open(Bar::Kind::response, job);
    if (job && job->since + tasks_.tasks[task].deadline < result.to)
      result.marks.push_back({Mark::Kind::miss, job->job, result.to});
  }
  for (const auto& execution : executions_) open(Bar::Kind::device, execution);
  open(Bar::Kind::swap_in, copies_[1]);
  open(Bar::Kind::swap_out, copies_[0]);
  return result;
}

} // namespace rtexec::command
