#include "policies/device_scheduler.hpp"

#include "policies/co_run.hpp"

#include <algorithm>
#include <cassert>
#include <tuple>

namespace rtexec::policies {
namespace {

using Waiting = DeviceScheduler::Waiting;
using Slot = DeviceScheduler::Slot;
using Residence = DeviceScheduler::Residence;

bool more_urgent(const Waiting& a, const Waiting& b) noexcept {
  return std::tie(a.rank, a.deadline, a.job) < std::tie(b.rank, b.deadline, b.job);
}

/// The first slot in `residence`, going round from `begin`; there must be one.
std::uint32_t next_slot(const std::vector<Slot>& slots, std::uint32_t begin, Residence residence) noexcept {
  auto slot = begin;
  while (slots[slot].residence != residence) slot = slot + 1 == slots.size() ? 0 : slot + 1;
  return slot;
}

std::uint32_t after(std::uint32_t slot, const std::vector<Slot>& slots) noexcept {
  return slot + 1 == slots.size() ? 0 : slot + 1;
}

} // namespace

DeviceScheduler::DeviceScheduler(const Plan& plan, std::uint32_t slots_each) {
  state_.waiting.reserve(plan.tasks.size());
  actions_.reserve(actions_per_event);
  if (plan.swap) {
    rule_ = rule_of(plan.swap->policy);
    in_flight_ = plan.swap->copy_engines == 1 ? 1 : transfers_per_direction;
    for (std::uint32_t frame = plan.swap->frames; frame > 0; --frame) state_.free.push_back(frame - 1);
  }
  co_runs_ = plan.co_runs();
  auto unclaimed = static_cast<std::uint32_t>(state_.free.size());
  room_ = std::min(slots_each, unclaimed);
  for (const PlannedTask& task : plan.tasks) unclaimed -= task.resident_slots.value_or(0);
  for (const PlannedTask& task : plan.tasks) {
    const auto size = static_cast<std::uint32_t>(task.swap_slots.size());
    auto& slots = state_.slots.emplace_back(size);
    slots.reserve(room_);
    TaskState& kept = tasks_.emplace_back(TaskState{.rank = task.device_rank,
                                                    .device_done_by = task.device_done_by,
                                                    .period = task.period,
                                                    .policy = task.memory_policy,
                                                    .co_run = task.co_run});
    const std::uint32_t at_start = task.resident_slots ? *task.resident_slots : std::min(size, unclaimed);
    if (!task.resident_slots) unclaimed -= at_start;
    for (; kept.resident < at_start; ++kept.resident) {
      slots[kept.resident] = {Residence::resident, state_.free.back()};
      state_.free.pop_back();
    }
    kept.missing = size - kept.resident;
    kept.next_in = kept.missing > 0 ? kept.resident : 0;
  }
}

bool DeviceScheduler::idle() const noexcept {
  return !state_.running && !state_.beside && !state_.staged && state_.waiting.empty() &&
         state_.loading + state_.saving == 0;
}

std::span<const Action> DeviceScheduler::on(const Event& event) noexcept {
  actions_.clear();
  bool possible = false;
  switch (event.kind) {
  case Event::Kind::job_requested: possible = request(event); break;
  case Event::Kind::job_withdrawn: possible = withdraw(event.job); break;
  case Event::Kind::execution_done: possible = finish(event.job); break;
  case Event::Kind::copied_in:
  case Event::Kind::copied_out: possible = copied(event); break;
  }
  if (possible) settle();
  else actions_.push_back({Action::Kind::refuse, event.job, event.transfer});
  assert(actions_.size() <= actions_per_event);
  return actions_;
}

bool DeviceScheduler::precedes(const Event& a, const Event& b) const noexcept {
  const auto entry = [&](const Event& each) {
    return Waiting{each.job, each.deadline, each.job.task < tasks_.size() ? tasks_[each.job.task].rank : UINT32_MAX};
  };
  return more_urgent(entry(a), entry(b));
}

// ---- events ----

bool DeviceScheduler::request(const Event& event) noexcept {
  const std::uint32_t number = event.job.task;
  if (number >= tasks_.size() || outstanding(number)) return false;
  TaskState& task = tasks_[number];
  task.next_release = event.deadline - task.device_done_by + task.period;
  task.waits = true;
  const Waiting entry{event.job, event.deadline, task.rank};
  state_.waiting.insert(std::ranges::upper_bound(state_.waiting, entry, more_urgent), entry);
  return true;
}

bool DeviceScheduler::withdraw(JobId job) noexcept {
  if (state_.running == job && !state_.running_withdrawn) return state_.running_withdrawn = true;
  if (state_.beside == job && !state_.beside_withdrawn) return state_.beside_withdrawn = true;
  if (state_.staged && state_.staged->job == job && state_.staged->end != Staged::End::drop) {
    state_.staged->end = Staged::End::drop;
    return true;
  }
  const auto entry = std::ranges::find(state_.waiting, job, &Waiting::job);
  if (entry == state_.waiting.end()) return false;
  state_.waiting.erase(entry);
  tasks_[job.task].waits = false;
  actions_.push_back({Action::Kind::drop, job});
  return true;
}

bool DeviceScheduler::finish(JobId job) noexcept {
  const bool beside = state_.running != job;
  if (beside && state_.beside != job) return false;
  (beside ? state_.beside : state_.running).reset();
  (beside ? state_.beside_withdrawn : state_.running_withdrawn) = false;
  tasks_[job.task].last_execution = ++executions_;
  return true;
}

bool DeviceScheduler::copied(const Event& event) noexcept {
  const bool in = event.kind == Event::Kind::copied_in;
  const auto [number, index, frame] = event.transfer;
  if (number >= tasks_.size() || index >= state_.slots[number].size()) return false;
  Slot& slot = state_.slots[number][index];
  if (slot.residence != (in ? Residence::loading : Residence::saving) || slot.frame != frame) return false;

  --(in ? state_.loading : state_.saving);
  TaskState& task = tasks_[number];
  if (in != event.failed) {
    slot.residence = Residence::resident;
    ++task.resident;
  } else {
    slot.residence = Residence::missing;
    ++task.missing;
    state_.free.push_back(frame);
  }
  if (event.failed) fail_job_of(event);
  return true;
}

/// The job that the transfer was for cannot have what it needs. What it was given so far stays; its next job tries
/// again.
void DeviceScheduler::fail_job_of(const Event& event) noexcept {
  operation_.left = 0;
  if (state_.staged && moves_for_staged()) {
    if (state_.staged->end == Staged::End::execution) state_.staged->end = Staged::End::failure;
    return;
  }
  const auto entry = std::ranges::find(state_.waiting, operation_.job, &Waiting::job);
  if (!in_operations(rule_) || event.kind != Event::Kind::copied_out || entry == state_.waiting.end()) return;
  state_.waiting.erase(entry);
  tasks_[operation_.job.task].waits = false;
  actions_.push_back({Action::Kind::fail, operation_.job});
}

bool DeviceScheduler::outstanding(std::uint32_t task) const noexcept {
  return tasks_[task].waits || (state_.running && state_.running->task == task) ||
         (state_.beside && state_.beside->task == task) || (state_.staged && state_.staged->job.task == task);
}

// ---- exchanges ----

std::span<const Action> DeviceScheduler::exchange(std::uint32_t number, const Tenant& with) noexcept {
  actions_.clear();
  if (number >= tasks_.size() || !exchangeable(number, with.slots) ||
      with.slots > std::max<std::size_t>(room_, state_.slots[number].size())) {
    actions_.push_back({Action::Kind::refuse, {number, 0}, {}});
    return actions_;
  }
  TaskState& task = tasks_[number];
  task.rank = with.rank;
  task.device_done_by = with.device_done_by;
  task.period = with.period;
  task.policy = MemoryPolicy::device;
  task.stays = with.stays;
  if (with.slots == 0) {
    task.next_release = {};
    task.last_execution = 0;
  }
  resize(number, with.slots);
  settle();
  assert(actions_.size() <= actions_per_event);
  return actions_;
}

bool DeviceScheduler::exchangeable(std::uint32_t task, std::uint32_t slots) const noexcept {
  const std::size_t now = state_.slots[task].size();
  return !co_runs_ && !outstanding(task) && (slots == now || tasks_[task].resident + tasks_[task].missing == now);
}

/// Of a task none of whose chunks moves, unless it has that many already.
void DeviceScheduler::resize(std::uint32_t number, std::uint32_t size) noexcept {
  TaskState& task = tasks_[number];
  auto& slots = state_.slots[number];
  if (slots.size() == size) return;
  for (auto slot = size; slot < slots.size(); ++slot) {
    if (slots[slot].residence != Residence::resident) continue;
    state_.free.push_back(slots[slot].frame);
    --task.resident;
  }
  slots.resize(size);
  task.missing = size - task.resident;
  if (task.next_in >= size) task.next_in = 0;
  if (task.next_out >= size) task.next_out = 0;
}

// ---- executions ----

void DeviceScheduler::settle() noexcept {
  if (co_runs_) return execute_in_pairs();
  end_staged();
  switch (rule_) {
  case SwapRule::pipelined: execute_pipelined(); return transfer_pipelined();
  case SwapRule::serial:
  case SwapRule::rt_swap: execute_swapped(); return transfer_operation();
  case SwapRule::demand_paging: execute_paged(); return transfer_paged();
  }
}

/// A staged job that will not execute leaves when nothing is copied for it any more.
void DeviceScheduler::end_staged() noexcept {
  if (!state_.staged || staged_will_execute()) return;
  if (moves_for_staged()) {
    operation_.left = 0;
    if (state_.loading + state_.saving > 0) return;
  }
  actions_.push_back(
      {state_.staged->end == Staged::End::drop ? Action::Kind::drop : Action::Kind::fail, state_.staged->job});
  state_.staged.reset();
}

void DeviceScheduler::execute_in_pairs() noexcept {
  if (state_.running || state_.beside || state_.waiting.empty()) return;
  const auto place = partner_of_head();
  const auto partner = place ? std::optional(take(*place).job) : std::nullopt;
  start(take_head().job, partner.has_value());
  if (partner) start_beside(*partner);
}

std::optional<std::size_t> DeviceScheduler::partner_of_head() const noexcept {
  const auto& head = tasks_[state_.waiting.front().job.task].co_run;
  if (!head) return std::nullopt;
  for (std::size_t place = 1; place < state_.waiting.size(); ++place) {
    const auto& partner = tasks_[state_.waiting[place].job.task].co_run;
    if (partner && goes_with(*head, *partner, place == 1)) return place;
  }
  return std::nullopt;
}

void DeviceScheduler::execute_pipelined() noexcept {
  for (;;) {
    const bool bypass = state_.staged && !state_.waiting.empty() && bypasses(state_.waiting.front().job.task) &&
                        more_urgent(state_.waiting.front(), *state_.staged);
    if (!state_.running && bypass) {
      start(take_head().job);
    } else if (!state_.running && staged_is_complete()) {
      start_staged();
    } else if (!state_.staged && !state_.waiting.empty()) {
      stage_head();
    } else {
      return;
    }
  }
}

void DeviceScheduler::execute_swapped() noexcept {
  if (state_.running) return;
  if (staged_is_complete()) start_staged();
  else if (!state_.staged && !state_.waiting.empty() && complete(state_.waiting.front().job.task))
    start(take_head().job);
}

void DeviceScheduler::execute_paged() noexcept {
  if (state_.running) return;
  if (!state_.staged && !state_.waiting.empty()) stage_head();
  if (staged_is_complete()) start_staged();
}

void DeviceScheduler::start(JobId job, bool paired) noexcept {
  state_.running = job;
  actions_.push_back({.kind = Action::Kind::start_execution, .job = job, .as = policy_for(job.task, paired)});
}

void DeviceScheduler::start_beside(JobId job) noexcept {
  state_.beside = job;
  actions_.push_back(
      {.kind = Action::Kind::start_execution, .job = job, .beside = true, .as = policy_for(job.task, true)});
}

MemoryPolicy DeviceScheduler::policy_for(std::uint32_t task, bool paired) const noexcept {
  const MemoryPolicy policy = tasks_[task].policy;
  if (policy != MemoryPolicy::switching) return policy;
  return paired ? MemoryPolicy::host : MemoryPolicy::device;
}

void DeviceScheduler::start_staged() noexcept {
  start(state_.staged->job);
  state_.staged.reset();
}

void DeviceScheduler::stage_head() noexcept { state_.staged = {take_head(), Staged::End::execution}; }

Waiting DeviceScheduler::take(std::size_t place) noexcept {
  const auto entry = state_.waiting.begin() + static_cast<std::ptrdiff_t>(place);
  const Waiting taken = *entry;
  state_.waiting.erase(entry);
  tasks_[taken.job.task].waits = false;
  return taken;
}

// ---- transfers ----

/// Loads the staged job, with `in_flight_` transfers in each direction; one at a time in all where there is one copy
/// engine.
void DeviceScheduler::transfer_pipelined() noexcept {
  if (!staged_is_loading()) return;
  const std::uint32_t task = state_.staged->job.task;
  const bool both_ways = in_flight_ > 1;
  while (tasks_[task].missing > 0 && !state_.free.empty() &&
         state_.loading + (both_ways ? 0 : state_.saving) < in_flight_)
    copy_in(*state_.staged);
  while (tasks_[task].missing > state_.free.size() + state_.saving &&
         state_.saving + (both_ways ? 0 : state_.loading) < in_flight_) {
    const auto victim = victim_for(task);
    if (!victim) return;
    copy_out(*victim, state_.staged->job);
  }
}

void DeviceScheduler::transfer_operation() noexcept {
  if (state_.loading + state_.saving > 0) return;
  if (operation_.left == 0) {
    const auto next = next_operation();
    if (!next) return;
    operation_ = *next;
  }
  --operation_.left;
  if (operation_.out) return copy_out(operation_.task, operation_.job);
  copy_in(*state_.staged);
}

/// The swap queue: what the most urgent job that lacks chunks needs next.
std::optional<DeviceScheduler::Operation> DeviceScheduler::next_operation() noexcept {
  const auto job = std::ranges::find_if(state_.waiting, [&](const Waiting& each) { return !complete(each.job.task); });
  if (job == state_.waiting.end()) return std::nullopt;
  const bool may_load = !state_.staged && job == state_.waiting.begin();
  if (rule_ == SwapRule::serial && !may_load) return std::nullopt;
  const JobId id = job->job;
  const std::uint32_t missing = tasks_[id.task].missing;
  const auto free = static_cast<std::uint32_t>(state_.free.size());
  if (free < missing) {
    const auto victim = victim_for(id.task);
    if (!victim) return std::nullopt;
    return Operation{
        .out = true, .task = *victim, .left = std::min(missing - free, tasks_[*victim].resident), .job = id};
  }
  if (!may_load) return std::nullopt;
  stage_head();
  return Operation{.out = false, .task = id.task, .left = missing, .job = id};
}

void DeviceScheduler::transfer_paged() noexcept {
  if (!staged_is_loading() || state_.loading + state_.saving > 0) return;
  if (!state_.free.empty()) return copy_in(*state_.staged);
  if (const auto victim = least_recent_for(state_.staged->job.task)) copy_out(*victim, state_.staged->job);
}

void DeviceScheduler::copy_in(const Waiting& job) noexcept {
  const std::uint32_t number = job.job.task;
  TaskState& task = tasks_[number];
  auto& slots = state_.slots[number];
  const std::uint32_t index = next_slot(slots, task.next_in, Residence::missing);
  slots[index] = {Residence::loading, state_.free.back()};
  state_.free.pop_back();
  task.next_in = after(index, slots);
  --task.missing;
  ++state_.loading;
  actions_.push_back({Action::Kind::copy_in, job.job, {number, index, slots[index].frame}});
}

void DeviceScheduler::copy_out(std::uint32_t victim, JobId job) noexcept {
  TaskState& task = tasks_[victim];
  auto& slots = state_.slots[victim];
  const std::uint32_t index = next_slot(slots, task.next_out, Residence::resident);
  slots[index].residence = Residence::saving;
  task.next_out = after(index, slots);
  --task.resident;
  ++state_.saving;
  actions_.push_back({Action::Kind::copy_out, job, {victim, index, slots[index].frame}});
}

/// Whether `task` has chunks that `to` may be given.
bool DeviceScheduler::may_lose(std::uint32_t task, std::uint32_t to) const noexcept {
  const bool executes = state_.running && state_.running->task == task;
  const bool staged = state_.staged && state_.staged->job.task == task;
  return task != to && !executes && !staged && tasks_[task].resident > 0;
}

/// The task whose next release is latest; those with a waiting job only where there is no other, the least urgent
/// first, and none that is more urgent than a job of `task` that waits itself.
std::optional<std::uint32_t> DeviceScheduler::victim_for(std::uint32_t task) const noexcept {
  std::optional<std::uint32_t> latest;
  for (std::uint32_t other = 0; other < tasks_.size(); ++other)
    if (may_lose(other, task) && !tasks_[other].waits &&
        (!latest || tasks_[other].next_release > tasks_[*latest].next_release))
      latest = other;
  for (auto waiting = state_.waiting.rbegin(); !latest && waiting != state_.waiting.rend() && waiting->job.task != task;
       ++waiting)
    if (may_lose(waiting->job.task, task)) latest = waiting->job.task;
  return latest;
}

std::optional<std::uint32_t> DeviceScheduler::least_recent_for(std::uint32_t task) const noexcept {
  std::optional<std::uint32_t> oldest;
  for (std::uint32_t other = 0; other < tasks_.size(); ++other)
    if (may_lose(other, task) && (!oldest || tasks_[other].last_execution < tasks_[*oldest].last_execution))
      oldest = other;
  return oldest;
}

} // namespace rtexec::policies
