#include "rtexec/runtime/executive/task_run.hpp"

#include "rtexec/runtime/executive/contents_trace.hpp"
#include "tasks/base/initialise_observer.hpp"
#include "traces/emit.hpp"

namespace rtexec::executive {

using policies::Event;
using policies::ReleaseDecision;

void TaskRun::trace_layers() {
  workload_.observe({.begin =
                         [](void* self, std::uint32_t layer, Instant at) noexcept {
                           const auto& run = *static_cast<TaskRun*>(self);
                           if (run.observer_ != nullptr) traces::layer_begin(run.job_.id, layer, at);
                         },
                     .end =
                         [](void* self, std::uint32_t layer, Instant at) noexcept {
                           const auto& run = *static_cast<TaskRun*>(self);
                           if (run.observer_ != nullptr) traces::layer_end(run.job_.id, layer, at);
                         },
                     .self = this});
}

void TaskRun::trace_contents() {
  workload_.observe_contents({.made =
                                  [](void* self, const tasks::initialise::FirstContents& made) noexcept {
                                    auto& run = *static_cast<TaskRun*>(self);
                                    trace_first_contents(run.index_, run.buffers_told_++, made);
                                  },
                              .self = this});
}

void TaskRun::time_layers(LayerTimes& times) {
  layer_times_ = &times;
  workload_.observe(times.observer());
}

// ---- release thread ----

void TaskRun::release_loop() noexcept {
  traces::prepare_thread();
  join_regulation();
  warm_up_once();
  if (const auto start = waits_.for_start()) {
    const Instant end{Duration(control_.end.load())};
    policies::ReleaseGrid grid(task_.on_overrun, task_.period, *start + task_.offset, task_.on_wcet_exceeded);
    observer_ = &statistics_;
    release_jobs(grid, end);
    count_unserved(grid.next(), end);
  }
  waits_.for_stop();
  if (handshake_.outstanding()) withdraw();
  waits_.for_last_job_end();
  leave_regulation();
  no_releases();
}

void TaskRun::join_regulation() noexcept {
  if (bandwidth_ != nullptr && !bandwidth_->join(core_)) control_.unregulated.store(true);
}

void TaskRun::leave_regulation() noexcept {
  if (bandwidth_ != nullptr) bandwidth_->leave(core_);
}

void TaskRun::no_releases() noexcept {
  releases_over_.store(true, std::memory_order_release);
  handshake_.for_completion.raise();
}

/// Executes all parts of one job as a warm-up. The first real job then finds code, stacks and buffers in memory.
void TaskRun::warm_up_once() noexcept {
  const Instant now = hal::now();
  const Begin begin{.at = now, .executed = hal::execution_time()};
  start_job({.id = {.task = index_, .number = 0}, .nominal = now, .deadline = now + task_.deadline}, begin,
            io_.read(0, now, channels::TaskIo::For::warm_up));
  const bool ended = waits_.for_job_end();
  if (ended) workload_.begin_to_keep();
  if (!warm_up_.outcome) control_.warm_up_failed.store(this);
  control_.warmed_up.fetch_add(1);
  control_.warm_up_ended.raise();
}

/// Releases jobs until the run stops. Releases no job at `end` or later, even if the thread that stops the run is late.
void TaskRun::release_jobs(policies::ReleaseGrid& grid, Instant end) noexcept {
  using Kind = ReleaseDecision::Kind;
  while (grid.next() < end && waits_.for_release(grid) && hal::now() < end) {
    const bool ended = handshake_.ended_by(grid.next());
    ReleaseDecision decision = grid.at_release(!ended, ended && exceeded_);
    if (!ended) statistics_.overrun(job_, decision.kind);
    if (decision.kind == Kind::abort_and_wait) {
      abandoned_.store(true);
      withdraw();
    }
    if (decision.kind == Kind::wait || decision.kind == Kind::abort_and_wait) {
      if (!waits_.for_job_end()) return;
      decision = grid.after_wait(hal::now(), exceeded_);
    }
    waits_.released(decision.nominal);
    statistics_.skipped(grid.skipped());
    if (decision.kind == Kind::skip) statistics_.skip(index_, decision);
    if (decision.kind == Kind::stop) return control_.stop(overrun_);
    if (decision.kind == Kind::start) begin_job(grid, decision);
  }
}

/// Counts the releases from `next` on that are due but got no job before the end of the run. Such releases occur if
/// other threads occupied the core, or if this thread was still releasing earlier, late jobs. A release without a job
/// counts as missed if its deadline has passed.
void TaskRun::count_unserved(Instant next, Instant end) noexcept {
  if (waits_.is_triggered()) return;
  // A job is still in progress: these releases have no job because the overrun policy drops or delays them, not because
  // the run ended. Such releases are not counted here
  if (handshake_.outstanding() && task_.on_overrun != OnOverrun::catch_up) return;
  const Instant now = hal::now();
  for (; next < end && next < now; next += task_.period) statistics_.unserved(next + task_.deadline < now);
}

/// Begins a job and executes its first CPU part. Drops the release instead if an input with on_stale = "skip" has no
/// new value.
void TaskRun::begin_job(policies::ReleaseGrid& grid, const ReleaseDecision& decision) noexcept {
  const Begin begin{.at = hal::now(), .executed = hal::execution_time()};
  for (ChainPlace* chain : chains_) chain->look(let_ ? decision.nominal : Instant::max());
  const channels::TaskIo::Read read = io_.read(decision.job, decision.nominal, reads_for_);
  if (read.drops) {
    statistics_.skip(index_, grid.drop());
    return statistics_.skipped(grid.skipped());
  }
  if (read.outcome) statistics_.sampled(decision.nominal, read.sampled);
  const ChainPlace::Reading reading{.at = let_ ? decision.nominal : begin.at,
                                    .event = waits_.requested_at(decision.nominal),
                                    .sampled = read.sampled};
  for (ChainPlace* chain : chains_) chain->read(reading);
  start_job({.id = {.task = index_, .number = decision.job},
             .nominal = decision.nominal,
             .deadline = decision.nominal + task_.deadline},
            begin, read);
}

void TaskRun::start_job(const Job& job, const Begin& begin, const channels::TaskIo::Read& read) noexcept {
  job_ = job;
  sampled_ = read.sampled;
  exceeded_ = false;
  abandoned_.store(false);
  handshake_.begin();
  enter(TaskState::on_core);
  if (observer_ != nullptr) {
    observer_->released(job, begin.at);
    if (read.inputs > 0) traces::job_input(job.id, begin.at, read.sampled, read.inputs, read.stale, read.outcome);
  }
  const Status prepared = read.outcome ? workload_.before(job.id.number) : read.outcome;
  const Duration took = hal::execution_time() - begin.executed;
  const Instant ready = hal::now();
  end_.requested = ready;
  end_.executed_before = took;
  if (observer_ != nullptr) observer_->before_ended(job, ready, took);
  else warm_up_.before.store(took.count());
  part_ended(Part::before, begin.at, took, plan_.wcet.before);
  if (!prepared || !uses_device_) return device_part_ended({.outcome = prepared, .begin = ready, .end = ready});
  enter(TaskState::waiting_for_device);
  driver_->post({.kind = Event::Kind::job_requested,
                 .job = job.id,
                 .now = ready,
                 .deadline = job.nominal + plan_.device_done_by});
}

/// Reports a WCET excess if the part took longer than its WCET. Called by the thread that holds the job.
void TaskRun::part_ended(Part part, Instant begin, Duration took, Duration wcet) noexcept {
  if (observer_ == nullptr || took <= wcet) return;
  exceeded_ = true;
  observer_->exceeded(job_, part, begin, took, wcet);
  if (policies::ends_run(task_.on_wcet_exceeded)) control_.stop(excess_);
}

/// Withdraws the job from the device driver. Has no effect for a task without a device part, because the driver does
/// not know the job.
void TaskRun::withdraw() noexcept {
  if (!uses_device_) return;
  driver_->post({.kind = Event::Kind::job_withdrawn, .job = job_.id, .now = hal::now(), .deadline = {}});
}

void TaskRun::interrupt() noexcept {
  handshake_.for_release.raise();
  handshake_.for_completion.raise();
  if (task_.trigger == Trigger::input) io_.wake();
}

// ---- device ----

Status TaskRun::execute(MemoryPolicy as, std::uint32_t segment) noexcept {
  enter(TaskState::on_device);
  if (plan_.segments > 1) return workload_.execute_segment(segment);
  if (layer_times_ != nullptr && observer_ != nullptr) layer_times_->execution_begins();
  if (shortest_wait_ == nullptr) return workload_.execute_as(as);
  const Instant begin = hal::now();
  const Duration before = hal::execution_time();
  const Status outcome = workload_.execute_as(as);
  waited_ = hal::now() - begin - (hal::execution_time() - before);
  return outcome;
}

void TaskRun::device_part_ended(const DevicePart& part) noexcept {
  const auto& [outcome, begin, end, executed, longest, preemptions, concurrency] = part;
  end_.outcome = outcome;
  end_.concurrent = concurrency == hal::Concurrency::concurrent;
  end_.device_begin = begin;
  end_.device_end = end;
  end_.executed_on_device = executed;
  end_.preemptions = preemptions;
  if (!outcome) note_fault(outcome.error());
  if (observer_ == nullptr) warm_up_.device.store(executed.count());
  else if (outcome && uses_device_) observer_->device_ended(executed);
  if (layer_times_ != nullptr && observer_ != nullptr && outcome) layer_times_->execution_ends(executed);
  if (shortest_wait_ != nullptr && observer_ != nullptr && outcome && !end_.concurrent)
    *shortest_wait_ = std::min(*shortest_wait_, waited_);
  if (outcome && uses_device_)
    part_ended(Part::device, begin, executed, end_.concurrent ? plan_.co_run->wcet : plan_.wcet.device);
  enter(TaskState::on_core);
  handshake_.give_back();
}

/// Records that a job of this task reported a fault. The thread that owns the executive later finds out if the device
/// or only the workload failed, because only that thread may block. If no job reported device_fault, records the first
/// job that reported device_lost.
void TaskRun::note_fault(Errc error) noexcept {
  if (error != Errc::device_fault && error != Errc::device_lost) return;
  if (error == Errc::device_fault || control_.suspect.load() == nullptr) {
    suspect_job_.store(job_.id.number);
    control_.suspect.store(this);
  }
  if (error == Errc::device_lost) control_.device_lost.store(true);
  control_.over.raise();
}

// ---- completion thread ----

void TaskRun::completion_loop() noexcept {
  traces::prepare_thread();
  join_regulation();
  for (;;) {
    const std::uint32_t seen = handshake_.for_completion.value();
    if (handshake_.is_back()) end_job();
    else if (releases_over_.load(std::memory_order_acquire)) return leave_regulation();
    else completing_.wait(handshake_.for_completion, seen);
  }
}

void TaskRun::end_job() noexcept {
  end_.executed_after = Duration(0);
  if (end_.outcome && !abandoned_.load()) end_.outcome = execute_after();
  end_.end = hal::now();
  end_.abandoned = abandoned_.load();
  if (observer_ != nullptr) {
    observer_->ended(job_, end_);
    if (end_.outcome && !end_.abandoned) hand_on();
  } else warm_up_.outcome = end_.outcome;
  enter(TaskState::waiting_for_release);
  handshake_.end(end_.end);
}

/// Makes the job's data available in the chains, and releases jobs of the tasks that follow this task.
void TaskRun::hand_on() noexcept {
  const Instant at = let_ ? std::max(job_.deadline, end_.end) : end_.end;
  for (ChainPlace* chain : chains_) chain->write(at);
  for (TaskRun* follower : followers_) follower->trigger(at);
}

/// Writes the job's outputs to the sinks.
void TaskRun::hand_out() noexcept {
  const std::uint32_t dropped = io_.write(job_.id.number, job_.nominal, sampled_, observer_ == nullptr);
  if (dropped > 0 && observer_ != nullptr) traces::result_drop(job_.id, hal::now(), dropped);
}

Status TaskRun::execute_after() noexcept {
  const Instant begin = hal::now();
  if (observer_ != nullptr) observer_->after_begins(job_, begin);
  const Duration before = hal::execution_time();
  const Status outcome = workload_.after(job_.id.number);
  if (outcome) hand_out();
  end_.executed_after = hal::execution_time() - before;
  if (observer_ != nullptr) observer_->after_ended(end_.executed_after);
  else warm_up_.after.store(end_.executed_after.count());
  part_ended(Part::after, begin, end_.executed_after, plan_.wcet.after);
  return outcome;
}

// ---- status ----

void TaskRun::watch(Heartbeat& heartbeat, bool proved) const {
  heartbeat.watch("the release thread of task '" + task_.name + "'",
                  [this](Instant now) { return waits_.progress(now); });
  heartbeat.watch("the completion thread of task '" + task_.name + "'",
                  [this](Instant now) { return completing_.progress(now); });
  if (proved) heartbeat.watch("a job of task '" + task_.name + "'", [this](Instant) { return handshake_.progress(); });
}

TaskReport TaskRun::report() const {
  TaskReport report = statistics_.report();
  report.warm_up = {.before = Duration(warm_up_.before.load()),
                    .device = Duration(warm_up_.device.load()),
                    .after = Duration(warm_up_.after.load())};
  return report;
}

TaskStatus TaskRun::first_status() const {
  TaskStatus status;
  status.name = task_.name;
  status.period = task_.period;
  status.deadline = task_.deadline;
  status.bound = plan_.response_bound.value_or(Duration(0));
  status.core = plan_.core;
  status.may_pair = plan_.co_run ? 1 : 0;
  return status;
}

void TaskRun::show(TaskStatus& status) const {
  statistics_.show(status);
  status.state = state_.load(std::memory_order_acquire);
}

} // namespace rtexec::executive
