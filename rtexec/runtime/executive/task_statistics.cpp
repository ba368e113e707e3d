#include "rtexec/runtime/executive/task_statistics.hpp"

#include "traces/emit.hpp"

namespace rtexec::executive {

namespace {

// Increments a counter. Needs no atomic read-modify-write, because only one thread writes each counter.
void increment(std::atomic<std::uint64_t>& counter) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

void keep_longest(std::atomic<std::int64_t>& longest, Duration took) noexcept {
  if (took.count() > longest.load(std::memory_order_relaxed)) longest.store(took.count(), std::memory_order_relaxed);
}

void add(std::atomic<std::int64_t>& sum, Duration took) noexcept {
  sum.store(sum.load(std::memory_order_relaxed) + took.count(), std::memory_order_relaxed);
}

} // namespace

void TaskStatistics::overrun(const Job& unfinished, policies::ReleaseDecision::Kind decision) noexcept {
  traces::job_overrun(unfinished.id, hal::now(), task_.on_overrun, decision);
}

void TaskStatistics::skip(std::uint32_t task, const policies::ReleaseDecision& decision) noexcept {
  traces::job_skip(task, decision.nominal, hal::now(), decision.reason);
}

void TaskStatistics::unserved(bool late) noexcept {
  increment(unserved_);
  if (late) increment(unserved_late_);
}

void TaskStatistics::released(const Job& job, Instant now) noexcept {
  increment(released_);
  latency_.add(now - job.nominal);
  traces::job_release(job.id, job.nominal, now, job.deadline);
  traces::job_start(job.id, now);
}

void TaskStatistics::before_ended(const Job& job, Instant at, Duration executed) noexcept {
  keep_longest(longest_before_, executed);
  add(all_before_, executed);
  traces::cpu_end(job.id, at, executed);
}

void TaskStatistics::device_ended(Duration took) noexcept { device_.add(took); }

void TaskStatistics::after_begins(const Job& job, Instant at) const noexcept { traces::after_begin(job.id, at); }

void TaskStatistics::after_ended(Duration executed) noexcept {
  keep_longest(longest_after_, executed);
  add(all_after_, executed);
}

void TaskStatistics::exceeded(const Job& job, Part part, Instant begin, Duration took, Duration wcet) noexcept {
  increment(above_wcet_[static_cast<std::size_t>(part)]);
  static_cast<void>(unsettled_.push({.part = part, .begin = begin}));
  if (!excesses_.push({.task = job.id.task, .job = job.id.number, .part = part, .took = took, .wcet = wcet}))
    increment(lost_excesses_);
  noticed_.raise();
}

void TaskStatistics::settle_thefts(std::optional<Instant> last_on_core,
                                   std::optional<Instant> last_on_compute_core) noexcept {
  for (Unsettled excess; unsettled_.pop(excess);) {
    const auto& last = excess.part == Part::device ? last_on_compute_core : last_on_core;
    if (last && excess.begin <= *last) increment(above_wcet_stolen_[static_cast<std::size_t>(excess.part)]);
  }
}

void TaskStatistics::ended(const Job& job, const JobEnd& how) noexcept {
  if (how.concurrent) increment(paired_);
  preempted_.fetch_add(how.preemptions, std::memory_order_relaxed);
  const bool missed = count_outcome(job, how);
  keep_record(job, how, missed);
  if (!missed) return;
  increment(missed_);
  traces::job_miss(job.id, how.end, job.deadline, how.end - job.deadline);
  if (!misses_.push(
          {.task = job.id.task, .job = job.id.number, .response = how.end - job.nominal, .deadline = task_.deadline}))
    increment(lost_misses_);
  noticed_.raise();
}

/// True if the job counts as missed.
bool TaskStatistics::count_outcome(const Job& job, const JobEnd& how) noexcept {
  const bool late = how.end > job.deadline;
  if (how.abandoned) {
    increment(aborted_);
    traces::job_abort(job.id, how.end);
  } else if (!how.outcome && how.outcome.error() == Errc::cancelled) {
    increment(unfinished_); // the job was withdrawn because the run stops
    return late;
  } else if (!how.outcome) {
    failure_.store(how.outcome.error());
    increment(failed_);
  } else {
    const Duration response = how.end - job.nominal;
    increment(completed_);
    response_.add(response);
    last_response_.store(response.count(), std::memory_order_relaxed);
    traces::job_end(job.id, how.end, response, how.executed_after);
    return late;
  }
  return true;
}

void TaskStatistics::keep_record(const Job& job, const JobEnd& how, bool missed) noexcept {
  const std::size_t next = recorded_.load(std::memory_order_relaxed);
  if (next == records_.size())
    return lost_records_.store(lost_records_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  const Status outcome = how.abandoned ? Status(Unexpected(Errc::cancelled)) : how.outcome;
  records_[next] = {
      .task = job.id.task,
      .number = job.id.number,
      .nominal = job.nominal,
      .requested = how.requested,
      .device_begin = how.device_begin,
      .device_end = how.device_end,
      .concurrent = how.concurrent,
      .end = how.end,
      .executed = {.before = how.executed_before, .device = how.executed_on_device, .after = how.executed_after},
      .missed = missed,
      .failure = outcome ? std::nullopt : std::optional(outcome.error())};
  recorded_.store(next + 1, std::memory_order_release);
}

std::optional<Miss> TaskStatistics::take_miss() noexcept {
  Miss miss;
  return misses_.pop(miss) ? std::optional(miss) : std::nullopt;
}

std::optional<WcetExcess> TaskStatistics::take_excess() noexcept {
  WcetExcess excess;
  return excesses_.pop(excess) ? std::optional(excess) : std::nullopt;
}

void TaskStatistics::add_records(JobRecords& records) const {
  const auto ended = records_.begin() + static_cast<std::ptrdiff_t>(recorded_.load(std::memory_order_acquire));
  records.jobs.insert(records.jobs.end(), records_.begin(), ended);
  records.lost += lost_records_.load(std::memory_order_relaxed);
}

PartCounts TaskStatistics::counts(const std::array<Counter, 3>& by_part) noexcept {
  const auto of = [&](Part part) { return by_part[static_cast<std::size_t>(part)].load(std::memory_order_relaxed); };
  return {.before = of(Part::before), .device = of(Part::device), .after = of(Part::after)};
}

TaskReport TaskStatistics::report() const {
  const auto value = [](const Counter& counter) { return counter.load(std::memory_order_relaxed); };
  return {.name = task_.name,
          .criticality = task_.criticality,
          .released = value(released_),
          .completed = value(completed_),
          .missed = value(missed_) + value(unserved_late_),
          .skipped = value(skipped_),
          .dropped_triggers = value(dropped_triggers_),
          .aborted = value(aborted_),
          .failed = value(failed_),
          .failure = value(failed_) > 0 ? std::optional(failure_.load()) : std::nullopt,
          .unfinished = value(unfinished_) + value(unserved_),
          .paired = plan_.co_run ? std::optional(value(paired_)) : std::nullopt,
          .preempted = plan_.segments > 1 ? std::optional(value(preempted_)) : std::nullopt,
          .response = response_.statistics(),
          .release_latency = latency_.statistics(),
          .input_delay = input_delay_.report(),
          .observed = {.before = Duration(longest_before_.load()),
                       .device = device_.statistics().max,
                       .after = Duration(longest_after_.load())},
          .wcet = plan_.wcet,
          .above_wcet = counts(above_wcet_),
          .above_wcet_stolen = counts(above_wcet_stolen_),
          .warm_up = {},
          .deadline = task_.deadline,
          .bound = plan_.response_bound};
}

/// Fills the counters of the status. Reads the numbers of ended jobs before the numbers of begun jobs, so that a status
/// never shows more ended than begun jobs.
void TaskStatistics::show(TaskStatus& status) const {
  const auto value = [](const auto& counter) { return counter.load(std::memory_order_acquire); };
  status.completed = value(completed_);
  status.aborted = value(aborted_);
  status.failed = value(failed_);
  status.paired = value(paired_);
  status.total = {.missed = value(missed_) + value(unserved_late_),
                  .on_core = Duration(value(all_before_) + value(all_after_)),
                  .on_device = device_.total()};
  status.released = value(released_);
  status.skipped = value(skipped_);
  status.above_wcet = counts(above_wcet_);
  status.last_response = Duration(value(last_response_));
  status.p50_response = response_.percentile(0.5);
  status.p99_response = response_.percentile(0.99);
  status.max_response = response_.longest();
  status.max_release_latency = latency_.longest();
  status.input_delays = input_delay_.times.count();
  status.above_input_delay = value(input_delay_.violations);
  status.max_input_delay = input_delay_.times.longest();
}

} // namespace rtexec::executive
