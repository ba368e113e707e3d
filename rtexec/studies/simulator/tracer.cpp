#include "rtexec/studies/simulator/tracer.hpp"

#include "rtexec/studies/simulator/chain_recorder.hpp"
#include "traces/emit.hpp"

#include <algorithm>
#include <utility>

namespace rtexec::simulator {
namespace {

/// Returns a function that calls `first` and then `second`. `first` may be empty.
template <class First, class Second> auto then(First first, Second second) {
  return [first = std::move(first), second = std::move(second)](const auto& seen) {
    if (first) first(seen);
    second(seen);
  };
}

} // namespace

Tracer::Tracer(const TaskSet& tasks, const Plan& plan, traces::Session& session)
    : tasks_(tasks), plan_(plan), session_(session), room_(session.events_at_once()), progress_(plan.tasks.size()) {
  traces::run_begin(RTEXEC_VERSION, "simulation", true, Instant{});
  traces::task_set(tasks_.file.c_str());
  if (plan_.swap) traces::swap_plan(*plan_.swap, "simulation");
  traces::plan(plan_);
  for (std::uint32_t i = 0; i < plan_.tasks.size(); ++i) traces::task_info(i, tasks_.tasks[i], plan_.tasks[i]);
  for (std::uint32_t i = 0; i < plan_.chains.size(); ++i) {
    PlannedChain promised = plan_.chains[i];
    if (!on_grids(tasks_, tasks_.chains[i])) promised.reaction = promised.age = promised.reduced_age = std::nullopt;
    traces::chain_info(i, tasks_, promised);
  }
}

void Tracer::watch(Options& options) {
  options.observe = then(std::move(options.observe), [this](const Step& step) { see(step); });
  options.observe_core = then(std::move(options.observe_core), [this](const TimeInterval& interval) { see(interval); });
  options.observe_decision =
      then(std::move(options.observe_decision), [this](const Decision& decision) { see(decision); });
  options.observe_dispatch = [this, observe = std::move(options.observe_dispatch)](policies::JobId job, unsigned core,
                                                                                   Instant at) {
    if (observe) observe(job, core, at);
    dispatch(job, core, at);
  };
}

void Tracer::see(const Step& step) {
  using Kind = Step::Kind;
  const auto job = step.job;
  const Instant now = step.now;
  const Task& task = tasks_.tasks[job.task];
  begin_parts(now);
  switch (step.kind) {
  case Kind::release:
    end_abandoned(job.task, now);
    progress_[job.task] = {.job = job.number, .deadline = step.nominal + task.deadline};
    return write(traces::job_release, job, step.nominal, now, step.nominal + task.deadline);
  case Kind::skip:
    end_abandoned(job.task, now);
    return write(traces::job_skip, job.task, step.nominal, now, step.reason);
  case Kind::request: return request(step);
  case Kind::hand_on:
    end_first_part(job, now);
    progress_[job.task].device_done = true;
    return;
  case Kind::execution_start: return write(traces::device_begin, job, now);
  case Kind::execution_end:
    progress_[job.task].device_done = true;
    return write(traces::device_end, job, now, Status());
  case Kind::segment_end: return write(traces::segment_end, job, step.segment, now);
  case Kind::segment_begin: return write(traces::segment_begin, job, step.segment, now);
  case Kind::preemption:
  case Kind::resumption: return;
  case Kind::completion: return complete(step);
  case Kind::abort: progress_[job.task].abandoned = true; return;
  case Kind::stop:
    if (step.reason != policies::ReleaseReason::overrun) return; // run_end records other reasons
    return write(traces::job_overrun, job, now, task.on_overrun, policies::ReleaseDecision::Kind::stop);
  case Kind::transfer_begin: return write(traces::swap_begin, step.action, now);
  case Kind::transfer_end: return end_transfer(step);
  case Kind::fail: return miss(job, now);
  }
}

void Tracer::see(const TimeInterval& interval) {
  begin_parts(interval.end);
  progress_[interval.job.task].executed += interval.end - interval.begin;
}

void Tracer::see(const Decision& decision) {
  const std::uint64_t sequence = decisions_++;
  write(traces::scheduler_input, sequence, decision.event);
  for (const policies::Action& action : decision.actions) write(traces::scheduler_action, sequence, action);
}

void Tracer::dispatch(policies::JobId job, unsigned core, Instant at) {
  begin_parts(at);
  std::erase_if(dispatched_, [core](const Dispatch& earlier) { return earlier.core == core; });
  dispatched_.push_back({core, job, at});
}

/// Records the beginnings of parts that got their cores before `now`.
void Tracer::begin_parts(Instant now) {
  if (dispatched_.empty() || dispatched_.front().at == now) return;
  for (const Dispatch& each : dispatched_)
    if (progress_[each.job.task].job == each.job.number) begin_part(each.job, each.at);
  dispatched_.clear();
}

void Tracer::begin_part(policies::JobId job, Instant at) {
  Progress& progress = progress_[job.task];
  if (!progress.device_done) {
    if (!std::exchange(progress.started, true)) start(job, at);
  } else if (!std::exchange(progress.after_begun, true)) {
    write(traces::after_begin, job, at);
  }
}

/// Records the start of a job. The sampling of its input is recorded as early before the release as the input delay
/// allows.
void Tracer::start(policies::JobId job, Instant at) {
  write(traces::job_start, job, at);
  const Task& task = tasks_.tasks[job.task];
  if (!task.input_delay) return;
  const Instant nominal = progress_[job.task].deadline - task.deadline;
  write(traces::job_input, job, at, nominal - *task.input_delay, 1U, 0U, Status());
}

void Tracer::end_first_part(policies::JobId job, Instant at) {
  begin_part(job, at);
  progress_[job.task].ready = true;
  write(traces::cpu_end, job, at, std::exchange(progress_[job.task].executed, Duration{0}));
}

void Tracer::request(const Step& step) {
  end_first_part(step.job, step.now);
  write(traces::device_request, step.job, step.now, step.nominal + plan_.tasks[step.job.task].device_done_by);
}

void Tracer::complete(const Step& step) {
  begin_part(step.job, step.now);
  write(traces::job_end, step.job, step.now, step.now - step.nominal, progress_[step.job.task].executed);
  if (step.now > progress_[step.job.task].deadline) miss(step.job, step.now);
}

/// Records the end of an aborted job. Called when the next job is released or dropped, or at the end of the run.
void Tracer::end_abandoned(std::uint32_t task, Instant at) {
  Progress& progress = progress_[task];
  if (!std::exchange(progress.abandoned, false)) return;
  const policies::JobId job{task, progress.job};
  std::erase_if(dispatched_, [job](const Dispatch& each) { return each.job == job; });
  if (progress.started && !progress.ready) end_first_part(job, at);
  write(traces::job_abort, job, at);
  miss(job, at);
}

void Tracer::miss(policies::JobId job, Instant at) {
  const Instant deadline = progress_[job.task].deadline;
  write(traces::job_miss, job, at, deadline, at - deadline);
}

void Tracer::end_transfer(const Step& step) {
  const auto& transfer = step.action.transfer;
  const bool copied = !step.failed && (step.action.kind == policies::Action::Kind::copy_in ||
                                       plan_.tasks[transfer.task].swap_slots[transfer.slot].copied_out);
  write(traces::swap_end, step.action, step.now, step.failed ? Status(Unexpected(Errc::io_error)) : Status(),
        copied ? plan_.chunk : Bytes{0});
}

void Tracer::make_room() {
  room_ = session_.events_at_once();
  if (!outcome_) return;
  outcome_ = session_.drain();
}

Result<> Tracer::end(const Report& report) {
  const Instant end = Instant{} + report.elapsed;
  begin_parts(end);
  for (std::uint32_t task = 0; task < progress_.size(); ++task) end_abandoned(task, end);
  if (report.swap) traces::swap_totals(report.swap->in, report.swap->out, report.swap->skipped, report.swap->dropped);
  traces::run_end(end, to_string(report.stopped_by).c_str());
  return outcome_;
}

} // namespace rtexec::simulator
