#include "rtexec/executive/task_run.hpp"

#include "policies/release_gate.hpp"
#include "traces/emit.hpp"

#include <ctime>

namespace rtexec::executive {

using policies::Event;
using policies::ReleaseDecision;

namespace {

void increment(std::atomic<std::uint64_t>& counter) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

/// Time that the calling thread has executed, without what preempted it.
Duration executed_so_far() noexcept {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + Duration(time.tv_nsec);
}

void keep_longest(std::atomic<std::int64_t>& longest, Duration took) noexcept {
  if (took.count() > longest.load(std::memory_order_relaxed)) longest.store(took.count(), std::memory_order_relaxed);
}

/// One writer.
void add(std::atomic<std::int64_t>& sum, Duration took) noexcept {
  sum.store(sum.load(std::memory_order_relaxed) + took.count(), std::memory_order_relaxed);
}

} // namespace

TaskRun::TaskRun(std::uint32_t index, const Task& task, const PlannedTask& plan, Workload& workload,
                 RunControl& control)
    : index_(index), task_(task), plan_(plan), workload_(workload), control_(control) {}

void TaskRun::trace_layers() {
  workload_.observe({.begin =
                         [](void* self, std::uint32_t layer, Instant at) noexcept {
                           const auto& run = *static_cast<TaskRun*>(self);
                           if (!run.job_.warm_up) traces::layer_begin(run.id(), layer, at);
                         },
                     .end =
                         [](void* self, std::uint32_t layer, Instant at) noexcept {
                           const auto& run = *static_cast<TaskRun*>(self);
                           if (!run.job_.warm_up) traces::layer_end(run.id(), layer, at);
                         },
                     .self = this});
}

void TaskRun::record_jobs(std::size_t most) { records_.resize(most); }

// ---- release thread ----

void TaskRun::release_loop() noexcept {
  traces::prepare_thread();
  join_regulation();
  warm_up_once();
  if (const auto start = await_start()) {
    const Instant end{Duration(control_.end.load())};
    policies::ReleaseGate gate(task_.on_overrun, task_.period, *start + task_.offset);
    release_jobs(gate, end);
    count_unserved(gate.next(), end);
  }
  while (!control_.stopping.load()) {
    const std::uint32_t seen = wake_.value();
    if (!control_.stopping.load()) wake_.wait(seen);
  }
  if (outstanding()) withdraw();
  while (outstanding()) {
    const std::uint32_t seen = wake_.value();
    if (outstanding()) wake_.wait(seen);
  }
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
  ready_.raise();
}

/// One job through all parts, unrecorded, so that the first real one finds code, stacks and buffers in memory.
void TaskRun::warm_up_once() noexcept {
  const Instant now = hal::now();
  start_job({.number = 0, .nominal = now, .deadline = now + task_.deadline, .warm_up = true});
  static_cast<void>(await_end());
  if (!warm_up_) control_.warm_up_failed.store(this);
  control_.warmed_up.fetch_add(1);
  control_.warm_up_ended.raise();
}

std::optional<Instant> TaskRun::await_start() noexcept {
  for (;;) {
    const std::uint32_t seen = control_.started.value();
    if (control_.stopping.load()) return std::nullopt;
    if (const auto start = control_.start.load(std::memory_order_acquire)) return Instant(Duration(start));
    control_.started.wait(seen);
  }
}

void TaskRun::release_jobs(policies::ReleaseGate& gate, Instant end) noexcept {
  while (gate.next() < end && await_release(gate.next())) {
    const Instant nominal = gate.next();
    ReleaseDecision decision = gate.at_release(!ended_by(nominal));
    if (decision.kind != ReleaseDecision::Kind::start)
      traces::job_overrun(id(), hal::now(), task_.on_overrun, decision.kind);
    if (decision.kind == ReleaseDecision::Kind::skip) traces::job_skip(index_, nominal, hal::now());
    if (decision.kind == ReleaseDecision::Kind::abort_and_wait) {
      abandoned_.store(true);
      withdraw();
    }
    if (decision.kind == ReleaseDecision::Kind::wait || decision.kind == ReleaseDecision::Kind::abort_and_wait) {
      if (!await_end()) return;
      decision = gate.after_wait(hal::now());
    }
    skipped_.store(gate.skipped(), std::memory_order_relaxed);
    if (decision.kind == ReleaseDecision::Kind::stop) {
      const Task* nobody = nullptr;
      control_.stopped_by.compare_exchange_strong(nobody, &task_);
      control_.end_run();
      return;
    }
    if (decision.kind == ReleaseDecision::Kind::start)
      start_job({.number = decision.job,
                 .nominal = decision.nominal,
                 .deadline = decision.nominal + task_.deadline,
                 .warm_up = false});
  }
}

/// Releases from `next` on that this thread never came to, because others held its core, or because late jobs were
/// being caught up: cut off by the end of the run, and missed where their deadline passed before it.
void TaskRun::count_unserved(Instant next, Instant end) noexcept {
  // The policy would have answered for them
  if (outstanding() && task_.on_overrun != OnOverrun::catch_up) return;
  const Instant now = hal::now();
  for (; next < end && next < now; next += task_.period) {
    increment(unserved_);
    if (next + task_.deadline < now) increment(unserved_late_);
  }
}

void TaskRun::start_job(const Job& job) noexcept {
  const Instant now = hal::now();
  job_ = job;
  abandoned_.store(false);
  started_.fetch_add(1);
  state_.store(TaskState::on_core, std::memory_order_relaxed);
  if (!job.warm_up) {
    increment(released_);
    latency_.add(now - job.nominal);
    traces::job_release(id(), job.nominal, now, job.deadline);
    traces::job_start(id(), now);
  }
  const Duration before = executed_so_far();
  const Status prepared = workload_.before(job.number);
  const Duration took = executed_so_far() - before;
  keep_longest(job.warm_up ? warm_up_before_ : longest_before_, took);
  if (!job.warm_up) add(all_before_, took);
  const Instant ready = hal::now();
  requested_ = ready;
  if (!job.warm_up) traces::cpu_end(id(), ready, took);
  if (!prepared) return executed(job.number, prepared, ready, ready);
  state_.store(TaskState::waiting_for_device, std::memory_order_relaxed);
  driver_->post(
      {.kind = Event::Kind::job_requested, .job = id(), .now = ready, .deadline = job.nominal + plan_.device_done_by});
}

void TaskRun::withdraw() noexcept {
  driver_->post({.kind = Event::Kind::job_withdrawn, .job = id(), .now = hal::now(), .deadline = {}});
}

bool TaskRun::outstanding() const noexcept {
  return ended_.load(std::memory_order_acquire) != started_.load(std::memory_order_relaxed);
}

bool TaskRun::ended_by(Instant when) const noexcept {
  return !outstanding() && last_end_.load(std::memory_order_relaxed) <= when.time_since_epoch().count();
}

/// False when the run stops before.
bool TaskRun::await_release(Instant when) noexcept {
  for (;;) {
    const std::uint32_t seen = wake_.value();
    if (control_.stopping.load()) return false;
    if (hal::now() >= when) return true;
    wake_.wait_until(seen, when);
  }
}

/// False when the run stops before.
bool TaskRun::await_end() noexcept {
  while (outstanding()) {
    const std::uint32_t seen = wake_.value();
    if (control_.stopping.load()) return false;
    if (outstanding()) wake_.wait(seen);
  }
  return true;
}

void TaskRun::interrupt() noexcept {
  wake_.raise();
  ready_.raise();
}

// ---- device ----

Status TaskRun::execute(std::uint64_t) noexcept {
  state_.store(TaskState::on_device, std::memory_order_relaxed);
  return workload_.execute();
}

void TaskRun::executed(std::uint64_t job, Status outcome, Instant begin, Instant end) noexcept {
  outcome_ = outcome;
  device_begin_ = begin;
  device_end_ = end;
  if (!outcome) note_fault(job, outcome.error());
  if (job_.warm_up) keep_longest(warm_up_device_, end - begin);
  else if (outcome) device_.add(end - begin);
  state_.store(TaskState::on_core, std::memory_order_relaxed);
  returned_.fetch_add(1, std::memory_order_release);
  ready_.raise();
}

/// Whether the device met the fault, or the workload alone, is asked by a thread that may wait for the answer. The
/// first job that finds the device lost stands in for the one that lost it, where no job did.
void TaskRun::note_fault(std::uint64_t job, Errc error) noexcept {
  if (error != Errc::device_fault && error != Errc::device_lost) return;
  if (error == Errc::device_fault || control_.suspect.load() == nullptr) {
    suspect_job_.store(job);
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
    const std::uint32_t seen = ready_.value();
    if (ended_.load(std::memory_order_relaxed) != returned_.load(std::memory_order_acquire)) end_job();
    else if (releases_over_.load(std::memory_order_acquire)) return leave_regulation();
    else ready_.wait(seen);
  }
}

void TaskRun::end_job() noexcept {
  Status outcome = outcome_;
  executed_after_ = Duration(0);
  if (outcome && !abandoned_.load()) {
    if (!job_.warm_up) traces::after_begin(id(), hal::now());
    const Duration before = executed_so_far();
    outcome = workload_.after(job_.number);
    executed_after_ = executed_so_far() - before;
    keep_longest(job_.warm_up ? warm_up_after_ : longest_after_, executed_after_);
    if (!job_.warm_up) add(all_after_, executed_after_);
  }
  const Instant end = hal::now();
  if (job_.warm_up) warm_up_ = outcome;
  else count_end(outcome, end);
  last_end_.store(end.time_since_epoch().count(), std::memory_order_relaxed);
  state_.store(TaskState::waiting_for_release, std::memory_order_relaxed);
  ended_.fetch_add(1, std::memory_order_release);
  wake_.raise();
}

void TaskRun::count_end(Status outcome, Instant end) noexcept {
  const bool missed = count_outcome(outcome, end);
  keep_record(outcome, missed, end);
  if (!missed) return;
  increment(missed_);
  traces::job_miss(id(), end, job_.deadline, end - job_.deadline);
  tell_miss(end - job_.nominal);
}

/// Whether the deadline was missed.
bool TaskRun::count_outcome(Status outcome, Instant end) noexcept {
  const bool late = end > job_.deadline;
  if (abandoned_.load()) {
    increment(aborted_);
    traces::job_abort(id(), end);
  } else if (!outcome && outcome.error() == Errc::cancelled) {
    increment(unfinished_); // withdrawn because the run stops
    return late;
  } else if (!outcome) {
    failure_.store(outcome.error());
    increment(failed_);
  } else {
    increment(completed_);
    response_.add(end - job_.nominal);
    last_response_.store((end - job_.nominal).count(), std::memory_order_relaxed);
    traces::job_end(id(), end, end - job_.nominal, executed_after_);
    return late;
  }
  return true;
}

void TaskRun::tell_miss(Duration response) noexcept {
  if (!misses_.push({.task = index_, .job = job_.number, .response = response, .deadline = task_.deadline}))
    increment(lost_misses_);
  control_.missed.raise();
}

void TaskRun::keep_record(Status outcome, bool missed, Instant end) noexcept {
  if (recorded_ == records_.size()) return void(++lost_records_);
  if (abandoned_.load()) outcome = Unexpected(Errc::cancelled);
  records_[recorded_++] = {.task = index_,
                           .number = job_.number,
                           .nominal = job_.nominal,
                           .requested = requested_,
                           .device_begin = device_begin_,
                           .device_end = device_end_,
                           .end = end,
                           .missed = missed,
                           .failure = outcome ? std::nullopt : std::optional(outcome.error())};
}

// ---- statistics ----

std::optional<Miss> TaskRun::take_miss() noexcept {
  Miss miss;
  return misses_.pop(miss) ? std::optional(miss) : std::nullopt;
}

void TaskRun::add_records(JobRecords& records) const {
  records.jobs.insert(records.jobs.end(), records_.begin(), records_.begin() + static_cast<std::ptrdiff_t>(recorded_));
  records.lost += lost_records_;
}

TaskReport TaskRun::report() const {
  const auto value = [](const Counter& counter) { return counter.load(std::memory_order_relaxed); };
  return {.name = task_.name,
          .criticality = task_.criticality,
          .released = value(released_),
          .completed = value(completed_),
          .missed = value(missed_) + value(unserved_late_),
          .skipped = value(skipped_),
          .aborted = value(aborted_),
          .failed = value(failed_),
          .failure = value(failed_) > 0 ? std::optional(failure_.load()) : std::nullopt,
          .unfinished = value(unfinished_) + value(unserved_),
          .response = response_.statistics(),
          .release_latency = latency_.statistics(),
          .observed = {.before = Duration(longest_before_.load()),
                       .device = device_.statistics().max,
                       .after = Duration(longest_after_.load())},
          .warm_up = {.before = Duration(warm_up_before_.load()),
                      .device = Duration(warm_up_device_.load()),
                      .after = Duration(warm_up_after_.load())},
          .deadline = task_.deadline,
          .bound = plan_.response_bound};
}

TaskStatus TaskRun::first_status() const {
  TaskStatus status;
  status.name = task_.name;
  status.period = task_.period;
  status.deadline = task_.deadline;
  status.bound = plan_.response_bound.value_or(Duration(0));
  status.core = plan_.core;
  return status;
}

/// What ends jobs is read before what begins them: a job that has ended has begun, in any status.
void TaskRun::show(TaskStatus& status) const {
  const auto value = [](const auto& counter) { return counter.load(std::memory_order_acquire); };
  status.completed = value(completed_);
  status.aborted = value(aborted_);
  status.failed = value(failed_);
  status.total = {.missed = value(missed_) + value(unserved_late_),
                  .on_core = Duration(value(all_before_) + value(all_after_)),
                  .on_device = device_.total()};
  status.released = value(released_);
  status.skipped = value(skipped_);
  status.state = value(state_);
  status.last_response = Duration(value(last_response_));
  status.p50_response = response_.percentile(0.5);
  status.p99_response = response_.percentile(0.99);
  status.max_response = response_.longest();
  status.max_release_latency = latency_.longest();
}

} // namespace rtexec::executive
