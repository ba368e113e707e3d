#include "policies/device_scheduler.hpp"

#include <algorithm>
#include <cassert>
#include <tuple>

namespace rtexec::policies {
namespace {

using Waiting = DeviceScheduler::State::Waiting;

bool more_urgent(const Waiting& a, const Waiting& b) noexcept {
  return std::tie(a.rank, a.deadline, a.job) < std::tie(b.rank, b.deadline, b.job);
}

} // namespace

void Actions::add(Action action) noexcept {
  assert(list_.size() < list_.capacity());
  list_.push_back(action);
}

DeviceScheduler::DeviceScheduler(const Plan& plan) {
  ranks_.reserve(plan.tasks.size());
  for (const PlannedTask& task : plan.tasks) ranks_.push_back(task.device_rank);
  state_.waiting.reserve(plan.tasks.size());
}

void DeviceScheduler::on(const Event& event, Actions& out) noexcept {
  switch (event.kind) {
    case Event::Kind::job_requested: return request(event, out);
    case Event::Kind::job_withdrawn: return withdraw(event.job, out);
    case Event::Kind::execution_done: return finish(event.job, out);
  }
  out.add({Action::Kind::refuse, event.job});
}

void DeviceScheduler::request(const Event& event, Actions& out) noexcept {
  const std::uint32_t task = event.job.task;
  const bool known = task < ranks_.size();
  const bool executes = state_.running && state_.running->task == task;
  const bool waits = std::ranges::any_of(state_.waiting, [&](const Waiting& other) { return other.job.task == task; });
  if (!known || executes || waits) return out.add({Action::Kind::refuse, event.job});

  const Waiting entry{event.job, event.deadline, ranks_[task]};
  state_.waiting.insert(std::ranges::upper_bound(state_.waiting, entry, more_urgent), entry);
  if (!state_.running) start_head(out);
}

void DeviceScheduler::withdraw(JobId job, Actions& out) noexcept {
  if (state_.running == job && !state_.running_withdrawn) {
    state_.running_withdrawn = true;
    return;
  }
  const auto entry = std::ranges::find(state_.waiting, job, &Waiting::job);
  if (entry == state_.waiting.end()) return out.add({Action::Kind::refuse, job});
  state_.waiting.erase(entry);
  out.add({Action::Kind::drop, job});
}

void DeviceScheduler::finish(JobId job, Actions& out) noexcept {
  if (state_.running != job) return out.add({Action::Kind::refuse, job});
  state_.running.reset();
  state_.running_withdrawn = false;
  if (!state_.waiting.empty()) start_head(out);
}

void DeviceScheduler::start_head(Actions& out) noexcept {
  state_.running = state_.waiting.front().job;
  state_.waiting.erase(state_.waiting.begin());
  out.add({Action::Kind::start_execution, *state_.running});
}

} // namespace rtexec::policies
