#include "traces/analysis/attribution.hpp"

#include <algorithm>
#include <utility>

namespace rtexec::traces {
namespace {

using policies::JobId;
using Where = Share::Where;

Where where_of(Direction direction) { return direction == Direction::in ? Where::swap_in : Where::swap_out; }

/// The conditions that keep a job from the device, in order of precedence. If several conditions hold at an instant,
/// the first condition counts.
enum Rank : std::uint64_t {
  executes,
  executes_co_running,
  own_in,
  own_out,
  engine_busy,
  engine_idle,
  others_in,
  others_out
};

} // namespace

JobBreakdown Attribution::divide(const JobProgress& job, Instant end, const Timeline& timeline) {
  timeline_ = &timeline;
  now_ = job.nominal;
  end = std::max(end, now_);
  result_ = {};
  result_.job = job.urgency.job;
  result_.nominal = job.nominal;
  result_.deadline = job.deadline - job.nominal;
  result_.response = end - job.nominal;
  const auto until = [end](const std::optional<Instant>& milestone) { return std::min(milestone.value_or(end), end); };
  release(job, until(job.start));
  compute(job, until(job.cpu_end), job.executed_before);
  wait_for_device(job, until(job.device_begin));
  Duration executed = job.executed_on_device.value_or(Duration::max());
  for (const Pause& pause : job.pauses) {
    execute(job, until(pause.begin), executed);
    wait_preempted(job, until(pause.end));
  }
  execute(job, until(job.device_end), executed);
  wait_for_core(job, until(job.after_begin), Cause::overhead);
  compute(job, end, job.executed_after);
  return std::move(result_);
}

void Attribution::give(const Owner& owner, Duration time) {
  if (time <= Duration(0)) return;
  result_.by_cause[static_cast<std::size_t>(owner.cause)] += time;
  const auto same = std::ranges::find_if(result_.shares, [&](const Share& share) {
    return share.cause == owner.cause && share.where == owner.where && share.culprit == owner.culprit;
  });
  if (same != result_.shares.end()) same->time += time;
  else
    result_.shares.push_back({.cause = owner.cause,
                              .where = owner.where,
                              .culprit = owner.culprit,
                              .time = time,
                              .usual = {},
                              .overrun = {}});
}

void Attribution::advance(Instant until, const Owner& owner) {
  if (until <= now_) return;
  give(owner, until - now_);
  now_ = until;
}

// ---- on its core ----

void Attribution::release(const JobProgress& job, Instant until) {
  if (job.before_it) advance(std::min(until, job.before_it_ended), {Cause::queueing, Where::core, job.before_it});
  wait_for_core(job, until, Cause::release_latency);
}

/// Fills `cover_` with the conditions that keep the job from its core, from `now_` to `until`.
void Attribution::cover_core(const JobProgress& job, Instant until) {
  cover_.start(now_, until);
  const auto core = timeline_->cores.find(job.core);
  if (core == timeline_->cores.end()) return;
  core->second.throttles.overlapping(now_, until, [&](const auto& throttle) {
    cover_.add(throttle.begin, throttle.end, 0, {Cause::throttled, Where::core, {}});
  });
  core->second.parts.overlapping(now_, until, [&](const auto& part) {
    if (part.what.rank < job.core_rank)
      cover_.add(part.begin, part.end, std::uint64_t{1} + part.what.rank,
                 {Cause::queueing, Where::core, part.what.job});
  });
}

void Attribution::wait_for_core(const JobProgress& job, Instant until, Cause rest) {
  if (until <= now_) return;
  cover_core(job, until);
  const Duration nobody = cover_.divide([this](const Owner& owner, Duration time) { give(owner, time); });
  give({rest, Where::core, {}}, nobody);
  now_ = until;
}

/// Attributes the time of a CPU part, from `now_` to `until`. `executed` is the part's CPU time. The rest of the time
/// is attributed to the conditions that kept the job from its core, at most as long as each condition lasted. The
/// remainder is overhead.
void Attribution::compute(const JobProgress& job, Instant until, std::optional<Duration> executed) {
  if (until <= now_) return;
  const Duration whole = until - now_;
  cover_core(job, until);
  Duration waited = executed ? whole - std::clamp(*executed, Duration(0), whole) : whole;
  const Duration nobody = cover_.divide([&](const Owner& owner, Duration time) {
    time = std::min(time, waited);
    waited -= time;
    give(owner, time);
  });
  const Duration unexplained = executed ? waited : waited - nobody;
  give({Cause::overhead, Where::core, {}}, unexplained);
  give({Cause::execution, Where::core, {}}, executed ? std::min(*executed, whole) : nobody);
  now_ = until;
}

// ---- waiting for the device, and executing there ----

/// Attributes an interval on the device. `executed` is the executed time that has not been attributed yet; it is
/// reduced by the time attributed here.
void Attribution::execute(const JobProgress& job, Instant until, Duration& executed) {
  const Duration whole = std::max(Duration(0), until - now_);
  const Duration own = std::clamp(executed, Duration(0), whole);
  executed -= own;
  give({Cause::overhead, Where::execution, job.urgency.job}, whole - own);
  give({Cause::execution, Where::execution, {}}, own);
  now_ += whole;
}

void Attribution::wait_for_device(const JobProgress& job, Instant until) {
  if (until <= now_) return;
  cover_.start(now_, until);
  timeline_->executions.overlapping(now_, until, [&](const auto& execution) {
    const Urgency& other = execution.what.of;
    if (other.job == job.urgency.job) return;
    const Cause cause = other < job.urgency ? Cause::queueing : Cause::blocking_execution;
    cover_.add(execution.begin, execution.end, execution.what.co_running ? executes_co_running : executes,
               {cause, Where::execution, other.job});
  });
  for (const Direction direction : {Direction::in, Direction::out}) add_transfers(job, direction, until);
  const Duration nobody = cover_.divide([this](const Owner& owner, Duration time) { give(owner, time); });
  give({Cause::overhead, Where::execution, {}}, nobody);
  now_ = until;
}

/// Attributes the time of a preemption by the rules for the wait before the first segment. Also counts the jobs that
/// had the device, and the chunks of the job that were loaded again.
void Attribution::wait_preempted(const JobProgress& job, Instant until) {
  if (until <= now_) return;
  Preemptions& seen = result_.preemptions;
  ++seen.count;
  timeline_->executions.overlapping(now_, until, [&](const auto& execution) {
    const JobId other = execution.what.of.job;
    if (other != job.urgency.job)
      seen.add(other.task, std::min(execution.end, until) - std::max(execution.begin, now_));
  });
  timeline_->engine(Direction::in).transfers.overlapping(now_, until, [&](const auto& transfer) {
    seen.reloaded += transfer.what.of.job == job.urgency.job && transfer.begin >= now_;
  });
  Duration& loading = result_.by_cause[static_cast<std::size_t>(Cause::swap_in)];
  const Duration before = loading;
  wait_for_device(job, until);
  seen.reloading += loading - before;
}

void Attribution::add_transfers(const JobProgress& job, Direction direction, Instant until) {
  const bool in = direction == Direction::in;
  const auto& engine = timeline_->engine(direction);
  engine.transfers.overlapping(now_, until, [&](const auto& transfer) {
    const Urgency& other = transfer.what.of;
    if (other.job == job.urgency.job)
      return cover_.add(transfer.begin, transfer.end, in ? own_in : own_out,
                        {in ? Cause::swap_in : Cause::swap_out, where_of(direction), {}});
    const Cause cause = other < job.urgency ? Cause::queueing : Cause::blocking_copy;
    cover_.add(transfer.begin, transfer.end, in ? others_in : others_out, {cause, where_of(direction), other.job});
  });
  engine.pending.overlapping(now_, until, [&](const auto& order) {
    if (order.what != job.urgency.job) return;
    cover_.add(order.begin, order.end, engine_idle, {Cause::copy_engine, where_of(direction), {}});
    engine.transfers.overlapping(order.begin, order.end, [&](const auto& transfer) {
      if (transfer.what.of.job == job.urgency.job) return;
      cover_.add(std::max(transfer.begin, order.begin), std::min(transfer.end, order.end), engine_busy,
                 {Cause::copy_engine, where_of(direction), transfer.what.of.job});
    });
  });
}

} // namespace rtexec::traces
