#include "rtexec/simulator/tracer.hpp"

#include "traces/emit.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace rtexec::simulator {
namespace {

constexpr std::size_t at_once = 500; // events, between waits of a millisecond

} // namespace

void Tracer::see(const Step& step) {
  using Kind = Step::Kind;
  const auto job = step.job;
  const Instant now = step.now;
  const Task& task = tasks_.tasks[job.task];
  const Instant nominal = step.nominal;
  Progress& progress = progress_[job.task];
  switch (step.kind) {
    case Kind::release:
      progress = {};
      return note(now, [=, deadline = nominal + task.deadline] { traces::job_release(job, nominal, now, deadline); });
    case Kind::skip: return note(now, [=] { traces::job_skip(job.task, nominal, now); });
    case Kind::request:
      if (!std::exchange(progress.started, true)) note(now, [=] { traces::job_start(job, now); });
      note(now, [=] { traces::cpu_end(job, now); });
      return note(now, [=, deadline = nominal + plan_.tasks[job.task].device_done_by] { traces::device_request(job, now, deadline); });
    case Kind::execution_start: return note(now, [=] { traces::device_begin(job, now); });
    case Kind::execution_end:
      progress.device_done = true;
      return note(now, [=] { traces::device_end(job, now, {}); });
    case Kind::completion: return complete(step);
    case Kind::abort: return note(now, [=] { traces::job_abort(job, now); });
    case Kind::stop: return note(now, [=, policy = task.on_overrun] { traces::job_overrun(job, now, policy, policies::ReleaseDecision::Kind::stop); });
    case Kind::transfer_begin: return note(now, [=, action = step.action] { traces::swap_begin(action, now); });
    case Kind::transfer_end: {
      const Status outcome = step.failed ? Status(std::unexpected(Errc::io_error)) : Status();
      const auto& transfer = step.action.transfer;
      const bool copied = !step.failed && (step.action.kind == policies::Action::Kind::copy_in || plan_.tasks[transfer.task].swap_slots[transfer.slot].copied_out);
      return note(now, [=, action = step.action, bytes = copied ? plan_.chunk : Bytes{0}] { traces::swap_end(action, now, outcome, bytes); });
    }
    case Kind::fail: return note(now, [=] { traces::device_end(job, now, std::unexpected(Errc::io_error)); });
  }
}

void Tracer::see(const Stretch& stretch) {
  const auto job = stretch.job;
  const Instant begin = stretch.begin;
  Progress& progress = progress_[job.task];
  if (!progress.device_done) {
    if (!std::exchange(progress.started, true)) note(begin, [=] { traces::job_start(job, begin); });
  } else if (!std::exchange(progress.after_begun, true)) {
    note(begin, [=] { traces::after_begin(job, begin); });
  }
}

void Tracer::complete(const Step& step) {
  const auto job = step.job;
  const Instant now = step.now;
  const Instant nominal = step.nominal;
  const Instant deadline = nominal + tasks_.tasks[job.task].deadline;
  if (!std::exchange(progress_[job.task].after_begun, true)) note(now, [=] { traces::after_begin(job, now); });
  if (now > deadline) note(now, [=] { traces::job_miss(job, deadline, now); });
  note(now, [=] { traces::job_end(job, nominal, now); });
}

void Tracer::write(const SwapReport* swap) {
  std::ranges::stable_sort(events_, {}, &Event::at);
  if (plan_.swap) traces::swap_plan(*plan_.swap, "simulation");
  traces::plan(plan_);
  for (std::uint32_t i = 0; i < plan_.tasks.size(); ++i) traces::task_info(i, tasks_.tasks[i], plan_.tasks[i]);
  for (std::size_t i = 0; i < events_.size(); ++i) {
    events_[i].emit();
    if (i % at_once == at_once - 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (swap != nullptr) traces::swap_totals(swap->in, swap->out, swap->skipped, swap->dropped);
  events_.clear();
}

} // namespace rtexec::simulator
