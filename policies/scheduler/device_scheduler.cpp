#include "policies/scheduler/device_scheduler.hpp"

#include "policies/scheduler/co_run.hpp"

#include <algorithm>
#include <cassert>
#include <ranges>
#include <tuple>
#include <utility>

namespace rtexec::policies {
namespace {

using Waiting = DeviceScheduler::Waiting;
using Level = DeviceScheduler::Level;
using Slot = DeviceScheduler::Slot;
using Residence = DeviceScheduler::Residence;

bool more_urgent(const Waiting& a, const Waiting& b) noexcept {
  return std::tie(a.rank, a.deadline, a.job) < std::tie(b.rank, b.deadline, b.job);
}

/// Returns the first slot in state `residence`, searching round-robin from `begin`. There must be such a slot.
std::uint32_t next_slot(const std::vector<Slot>& slots, std::uint32_t begin, Residence residence) noexcept {
  auto slot = begin;
  while (slots[slot].residence != residence) slot = slot + 1 == slots.size() ? 0 : slot + 1;
  return slot;
}

bool contains(SlotRange range, std::uint32_t slot) noexcept { return range.begin <= slot && slot < range.end; }

std::uint32_t after(std::uint32_t slot, const std::vector<Slot>& slots) noexcept {
  return slot + 1 == slots.size() ? 0 : slot + 1;
}

} // namespace

bool DeviceScheduler::State::wanted() const noexcept {
  return std::ranges::any_of(levels, [](const Level& level) { return !level.empty(); });
}

DeviceScheduler::DeviceScheduler(const Plan& plan, std::uint32_t slots_each) : launch_ahead_(plan.launch_ahead) {
  actions_.reserve(actions_per_event);
  flights_.reserve(2 * transfers_per_direction);
  if (plan.swap) {
    rule_ = rule_of(plan.swap->policy);
    in_flight_ = plan.swap->copy_engines == 1 ? 1 : transfers_per_direction;
    for (std::uint32_t frame = plan.swap->frames; frame > 0; --frame) state_.free.push_back(frame - 1);
  }
  co_runs_ = plan.co_runs();
  auto unclaimed = static_cast<std::uint32_t>(state_.free.size());
  room_ = std::min(slots_each, unclaimed);
  state_.levels.resize(2);
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
    if (rule_ == SwapRule::pipelined && !co_runs_) {
      assert((task.device_class > 0 || size == 0) && task.segments > 0);
      kept.device_class = task.device_class;
      kept.segments = task.segments;
      state_.levels.resize(std::max<std::size_t>(state_.levels.size(), task.device_class + 1));
    }
    streams_.push_back(task.stream.value_or(Stream{}));
    assert(!task.stream || (rule_ == SwapRule::pipelined && task.stream->reads.size() == task.segments));
    const std::uint32_t begins_with = task.stream ? task.stream->ring : size;
    const std::uint32_t at_start = task.resident_slots ? *task.resident_slots : std::min(begins_with, unclaimed);
    if (!task.resident_slots) unclaimed -= at_start;
    for (; kept.resident < at_start; ++kept.resident) {
      slots[kept.resident] = {Residence::resident, state_.free.back()};
      state_.free.pop_back();
    }
    kept.wanted = {0, begins_with};
    kept.missing = begins_with - kept.resident;
    kept.next_in = kept.missing > 0 ? kept.resident : 0;
  }
  for (Level& level : state_.levels) level.waiting.reserve(tasks_.size());
}

bool DeviceScheduler::idle() const noexcept {
  return !state_.running && !state_.co_running && flights_.empty() && !state_.wanted();
}

std::span<const Action> DeviceScheduler::on(const Event& event) noexcept {
  actions_.clear();
  bool possible = false;
  switch (event.kind) {
  case Event::Kind::job_requested: possible = request(event); break;
  case Event::Kind::job_withdrawn: possible = withdraw(event.job); break;
  case Event::Kind::segment_done: possible = end_segment(event); break;
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
  const auto class_of = [&](const Event& each) {
    return each.job.task < tasks_.size() ? tasks_[each.job.task].device_class : UINT32_MAX;
  };
  const auto entry = [&](const Event& each) {
    return Waiting{each.job, each.deadline, each.job.task < tasks_.size() ? tasks_[each.job.task].rank : UINT32_MAX};
  };
  return class_of(a) != class_of(b) ? class_of(a) < class_of(b) : more_urgent(entry(a), entry(b));
}

// ---- events ----

bool DeviceScheduler::request(const Event& event) noexcept {
  const std::uint32_t number = event.job.task;
  if (number >= tasks_.size() || tasks_[number].at != TaskState::At::nowhere) return false;
  TaskState& task = tasks_[number];
  task.deadline = event.deadline;
  task.next_release = event.deadline - task.device_done_by + task.period;
  enqueue({event.job, event.deadline, task.rank});
  return true;
}

bool DeviceScheduler::withdraw(JobId job) noexcept {
  if (state_.running == job && state_.running_end != Placed::End::drop) {
    state_.running_end = Placed::End::drop;
    return true;
  }
  if (state_.co_running == job && !state_.co_running_withdrawn) return state_.co_running_withdrawn = true;
  if (job.task >= tasks_.size()) return false;
  Level& level = level_of(job.task);
  for (auto* place : {&level.preempted, &level.staged})
    if (*place && (*place)->job == job && (*place)->end != Placed::End::drop) {
      (*place)->end = Placed::End::drop;
      end_placed(*place);
      return true;
    }
  return leave_queue(job, Action::Kind::drop);
}

/// Removes the job from its queue, and adds an action of kind `how` for the job. Returns true if the job was in the
/// queue.
bool DeviceScheduler::leave_queue(JobId job, Action::Kind how) noexcept {
  Level& level = level_of(job.task);
  const auto entry = std::ranges::find(level.waiting, job, &Waiting::job);
  if (entry == level.waiting.end()) return false;
  level.waiting.erase(entry);
  leave(job, how);
  return true;
}

void DeviceScheduler::leave(JobId job, Action::Kind how) noexcept {
  tasks_[job.task].at = TaskState::At::nowhere;
  want(job.task, 0);
  actions_.push_back({how, job});
}

bool DeviceScheduler::end_segment(const Event& event) noexcept {
  const bool executes = state_.running == event.job && state_.segment == event.segment;
  if (!executes || event.segment + 1 >= tasks_[event.job.task].segments) return false;
  want(event.job.task, ++state_.segment);
  if (state_.segment == state_.launched) yield();
  else if (is_next_again()) launch();
  return true;
}

/// Takes the running job off the device at the end of a segment, so that other jobs may execute first.
void DeviceScheduler::yield() noexcept {
  const Waiting job = running_entry();
  const Placed::End end = std::exchange(state_.running_end, Placed::End::execution);
  state_.running.reset();
  if (tasks_[job.job.task].device_class > 0) {
    auto& preempted = level_of(job.job.task).preempted;
    place(preempted, job, end);
    return end_placed(preempted);
  }
  if (end != Placed::End::execution) return leave(job.job, Action::Kind::drop);
  enqueue(job);
}

/// Sets the window of slots that a streaming task needs from the beginning of `segment` on. The window has one slot for
/// each frame of the task's ring. Frees the frames of resident slots outside the window.
void DeviceScheduler::want(std::uint32_t number, std::uint32_t segment) noexcept {
  if (!streams(number)) return;
  TaskState& task = tasks_[number];
  auto& slots = state_.slots[number];
  const std::uint32_t begin = streams_[number].reads[segment].begin;
  task.wanted = {begin, std::min(begin + streams_[number].ring, static_cast<std::uint32_t>(slots.size()))};
  task.missing = 0;
  for (std::uint32_t index = 0; index < slots.size(); ++index) {
    Slot& slot = slots[index];
    const bool wanted = contains(task.wanted, index);
    if (!wanted && slot.residence == Residence::resident) {
      slot.residence = Residence::missing;
      state_.free.push_back(slot.frame);
      --task.resident;
    }
    if (wanted && slot.residence == Residence::missing) ++task.missing;
  }
}

/// True if the scheduler would choose the running job again at this end of a segment.
bool DeviceScheduler::is_next_again() const noexcept {
  if (state_.running_end != Placed::End::execution) return false;
  const std::uint32_t own = tasks_[state_.running->task].device_class;
  const auto& top_class = state_.levels.front().waiting;
  if (own == 0) return top_class.empty() || more_urgent(running_entry(), top_class.front());
  return std::ranges::all_of(std::span(state_.levels).first(own), &Level::empty);
}

Waiting DeviceScheduler::running_entry() const noexcept {
  const TaskState& task = tasks_[state_.running->task];
  return {*state_.running, task.deadline, task.rank, state_.segment};
}

bool DeviceScheduler::finish(JobId job) noexcept {
  const bool co_running = state_.running != job;
  if (co_running && state_.co_running != job) return false;
  (co_running ? state_.co_running : state_.running).reset();
  if (co_running) state_.co_running_withdrawn = false;
  else state_.running_end = Placed::End::execution;
  tasks_[job.task].at = TaskState::At::nowhere;
  tasks_[job.task].last_execution = ++executions_;
  want(job.task, 0);
  return true;
}

bool DeviceScheduler::copied(const Event& event) noexcept {
  const bool in = event.kind == Event::Kind::copied_in;
  const auto [number, index, frame] = event.transfer;
  if (number >= tasks_.size() || index >= state_.slots[number].size()) return false;
  Slot& slot = state_.slots[number][index];
  if (slot.residence != (in ? Residence::loading : Residence::saving) || slot.frame != frame) return false;

  --(in ? state_.loading : state_.saving);
  const auto flight = std::ranges::find(flights_, frame, &Flight::frame);
  const JobId job = flight->job;
  *flight = flights_.back();
  flights_.pop_back();
  TaskState& task = tasks_[number];
  const bool wanted = contains(task.wanted, index);
  if (in != event.failed && wanted) {
    slot.residence = Residence::resident;
    ++task.resident;
  } else {
    slot.residence = Residence::missing;
    if (wanted) ++task.missing;
    state_.free.push_back(frame);
  }
  if (event.failed) fail(job);
  end_placed(level_of(job.task).preempted);
  end_placed(level_of(job.task).staged);
  return true;
}

/// Fails the job because a chunk that it needs could not be loaded. Chunks that are already loaded stay on the device,
/// and the next job of the task requests the missing chunks again.
void DeviceScheduler::fail(JobId job) noexcept {
  operation_.left = 0;
  const bool streaming = state_.running == job && streams(job.task);
  if (streaming && state_.running_end == Placed::End::execution) state_.running_end = Placed::End::failure;
  Level& level = level_of(job.task);
  for (auto* place : {&level.preempted, &level.staged})
    if (will_execute(*place) && (*place)->job == job) (*place)->end = Placed::End::failure;
  leave_queue(job, Action::Kind::fail);
}

/// Removes a job from `place` (preempted or staged) if the job will not execute and none of its transfers is in flight.
void DeviceScheduler::end_placed(std::optional<Placed>& place) noexcept {
  if (!place || will_execute(place)) return;
  if (operation_.job == place->job) operation_.left = 0;
  if (std::ranges::find(flights_, place->job, &Flight::job) != flights_.end()) return;
  leave(place->job, place->end == Placed::End::drop ? Action::Kind::drop : Action::Kind::fail);
  place.reset();
}

// ---- exchanges ----

std::span<const Action> DeviceScheduler::exchange(std::uint32_t number, const TaskParameters& with) noexcept {
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
  const TaskState& state = tasks_[task];
  return !co_runs_ && !streams(task) && state.at == TaskState::At::nowhere && (slots == 0 || state.device_class > 0) &&
         (slots == now || state.resident + state.missing == now);
}

/// Changes the number of the task's slots to `size`. If `size` differs from the present number, no chunk of the task
/// may be moving.
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
  task.wanted = {0, size};
  task.missing = size - task.resident;
  if (task.next_in >= size) task.next_in = 0;
  if (task.next_out >= size) task.next_out = 0;
}

// ---- executions ----

void DeviceScheduler::settle() noexcept {
  if (co_runs_) return execute_in_pairs();
  switch (rule_) {
  case SwapRule::pipelined: return settle_levels();
  case SwapRule::serial:
  case SwapRule::rt_swap: execute_swapped(); return transfer_operation();
  case SwapRule::demand_paging: execute_paged(); return transfer_paged();
  }
}

void DeviceScheduler::execute_in_pairs() noexcept {
  Level& level = only_level();
  if (state_.running || state_.co_running || level.waiting.empty()) return;
  const auto place = partner_of_head();
  const auto partner = place ? std::optional(take(level, *place)) : std::nullopt;
  start(take(level), partner.has_value());
  if (partner) start_co_running(partner->job);
}

std::optional<std::size_t> DeviceScheduler::partner_of_head() const noexcept {
  const auto& waiting = state_.levels[1].waiting;
  const auto& head = tasks_[waiting.front().job.task].co_run;
  if (!head) return std::nullopt;
  for (std::size_t place = 1; place < waiting.size(); ++place) {
    const auto& partner = tasks_[waiting[place].job.task].co_run;
    if (partner && goes_with(*head, *partner, place == 1)) return place;
  }
  return std::nullopt;
}

void DeviceScheduler::settle_levels() noexcept {
  Level* first = nullptr; // the most urgent level with a waiting, staged or preempted job
  for (Level& level : std::span(state_.levels).subspan(1)) {
    stage_head(level);
    if (first == nullptr && !level.empty()) first = &level;
  }
  Level& top_class = state_.levels.front();
  if (!state_.running && !top_class.waiting.empty()) start(take(top_class));
  if (!state_.running && first != nullptr) execute_next_of(*first);
  if (in_flight_ == 0) return;
  if (state_.running && tasks_[state_.running->task].device_class > 0) {
    Level* const executing = &level_of(state_.running->task);
    if (first == nullptr || executing < first) first = executing;
  }
  if (first != nullptr) transfer_for(*first);
}

void DeviceScheduler::execute_next_of(Level& level) noexcept {
  if (level.preempted) return void(start_if_ready(level.preempted));
  if (!level.waiting.empty() && bypasses(level.waiting.front().job.task) &&
      more_urgent(level.waiting.front(), *level.staged))
    start(take(level));
  else if (start_if_ready(level.staged)) stage_head(level);
}

void DeviceScheduler::execute_swapped() noexcept {
  Level& level = only_level();
  if (state_.running || start_if_ready(level.staged) || level.staged || level.waiting.empty()) return;
  if (complete(level.waiting.front().job.task)) start(take(level));
}

void DeviceScheduler::execute_paged() noexcept {
  if (state_.running) return;
  stage_head(only_level());
  start_if_ready(only_level().staged);
}

void DeviceScheduler::start(const Waiting& job, bool paired) noexcept {
  tasks_[job.job.task].at = TaskState::At::device;
  state_.running.emplace(job.job);
  state_.segment = state_.launched = job.done;
  launch(paired);
}

/// Submits the segments of the running job that must be on the device but are not yet submitted. These are the
/// executing segment, and up to `launch_ahead_` segments after it (no further segments for a stream).
void DeviceScheduler::launch(bool paired) noexcept {
  const JobId job = *state_.running;
  const std::uint32_t first = state_.launched;
  const std::uint32_t behind = tasks_[job.task].segments - state_.segment - 1;
  state_.launched = state_.segment + 1 + (streams(job.task) ? 0 : std::min(launch_ahead_, behind));
  if (state_.launched == first) return;
  actions_.push_back({.kind = Action::Kind::start_execution,
                      .job = job,
                      .as = policy_for(job.task, paired),
                      .segment = first,
                      .committed = state_.launched - first - 1});
}

void DeviceScheduler::start_co_running(JobId job) noexcept {
  tasks_[job.task].at = TaskState::At::device;
  state_.co_running = job;
  actions_.push_back(
      {.kind = Action::Kind::start_execution, .job = job, .co_running = true, .as = policy_for(job.task, true)});
}

MemoryPolicy DeviceScheduler::policy_for(std::uint32_t task, bool paired) const noexcept {
  const MemoryPolicy policy = tasks_[task].policy;
  if (policy != MemoryPolicy::switching) return policy;
  return paired ? MemoryPolicy::host : MemoryPolicy::device;
}

bool DeviceScheduler::start_if_ready(std::optional<Placed>& place) noexcept {
  if (!will_execute(place) || !may_begin(*place)) return false;
  start(*place);
  place.reset();
  return true;
}

/// True if the chunks for the next segment of the job are on the device.
bool DeviceScheduler::may_begin(const Waiting& job) const noexcept {
  const std::uint32_t task = job.job.task;
  if (job.done == 0 || !streams(task)) return complete(task);
  const SlotRange reads = streams_[task].reads[job.done];
  return std::ranges::all_of(std::span(state_.slots[task]).subspan(reads.begin, reads.size()),
                             [](const Slot& slot) { return slot.residence == Residence::resident; });
}

/// Stages the most urgent waiting job of the level, that is, chooses it to execute next. Has no effect if a job of the
/// level is staged already, or if no job of the level waits.
void DeviceScheduler::stage_head(Level& level) noexcept {
  if (!level.staged && !level.waiting.empty()) place(level.staged, take(level));
}

void DeviceScheduler::place(std::optional<Placed>& free, const Waiting& job, Placed::End end) noexcept {
  tasks_[job.job.task].at = TaskState::At::placed;
  free.emplace(job, end);
}

void DeviceScheduler::enqueue(const Waiting& job) noexcept {
  tasks_[job.job.task].at = TaskState::At::waiting;
  auto& waiting = level_of(job.job.task).waiting;
  waiting.insert(std::ranges::upper_bound(waiting, job, more_urgent), job);
}

Waiting DeviceScheduler::take(Level& level, std::size_t place) noexcept {
  const auto entry = level.waiting.begin() + static_cast<std::ptrdiff_t>(place);
  const Waiting taken = *entry;
  level.waiting.erase(entry);
  return taken;
}

// ---- transfers ----

/// Begins transfers for one level: first for its executing job, then for its preempted job, then for its staged job
/// (the job that is chosen to execute next).
void DeviceScheduler::transfer_for(const Level& level) noexcept {
  const bool executes = state_.running && &level_of(state_.running->task) == &level;
  if (executes && state_.running_end == Placed::End::execution && !load(running_entry())) return;
  if (will_execute(level.preempted) && !load(*level.preempted)) return;
  if (will_execute(level.staged)) load(*level.staged);
}

/// Begins transfers for the job: up to `in_flight_` in each direction, or with one copy engine a single transfer at a
/// time. Returns true if all chunks of the job are loaded or being loaded.
bool DeviceScheduler::load(const Waiting& job) noexcept {
  const TaskState& task = tasks_[job.job.task];
  const bool both_ways = in_flight_ > 1;
  while (task.missing > 0 && !state_.free.empty() && state_.loading + (both_ways ? 0 : state_.saving) < in_flight_)
    copy_in(job);
  while (task.missing > state_.free.size() + state_.saving &&
         state_.saving + (both_ways ? 0 : state_.loading) < in_flight_) {
    const auto victim = victim_for(job.job.task);
    if (!victim) return false;
    copy_out(*victim, job.job);
  }
  return task.missing == 0;
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
  copy_in(*only_level().staged);
}

/// Returns the next swap operation, for the most urgent job that lacks chunks. Returns nullopt if no operation may
/// begin now.
std::optional<DeviceScheduler::Operation> DeviceScheduler::next_operation() noexcept {
  Level& level = only_level();
  const auto job = std::ranges::find_if(level.waiting, [&](const Waiting& each) { return !complete(each.job.task); });
  if (job == level.waiting.end()) return std::nullopt;
  const bool may_load = !level.staged && job == level.waiting.begin();
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
  place(level.staged, take(level));
  return Operation{.out = false, .task = id.task, .left = missing, .job = id};
}

void DeviceScheduler::transfer_paged() noexcept {
  const auto& staged = only_level().staged;
  if (!will_execute(staged) || complete(staged->job.task) || state_.loading + state_.saving > 0) return;
  if (!state_.free.empty()) return copy_in(*staged);
  if (const auto victim = least_recent_for(staged->job.task)) copy_out(*victim, staged->job);
}

void DeviceScheduler::copy_in(const Waiting& job) noexcept {
  const std::uint32_t number = job.job.task;
  TaskState& task = tasks_[number];
  auto& slots = state_.slots[number];
  const std::uint32_t first = streams(number) ? task.wanted.begin : task.next_in;
  const std::uint32_t index = next_slot(slots, first, Residence::missing);
  slots[index] = {Residence::loading, state_.free.back()};
  state_.free.pop_back();
  task.next_in = after(index, slots);
  --task.missing;
  ++state_.loading;
  order(Action::Kind::copy_in, job.job, {number, index, slots[index].frame});
}

void DeviceScheduler::copy_out(std::uint32_t victim, JobId job) noexcept {
  TaskState& task = tasks_[victim];
  auto& slots = state_.slots[victim];
  const std::uint32_t index = next_slot(slots, task.next_out, Residence::resident);
  slots[index].residence = Residence::saving;
  task.next_out = after(index, slots);
  --task.resident;
  ++state_.saving;
  order(Action::Kind::copy_out, job, {victim, index, slots[index].frame});
}

void DeviceScheduler::order(Action::Kind copy, JobId job, const Transfer& transfer) noexcept {
  flights_.push_back({transfer.frame, job});
  actions_.push_back({copy, job, transfer});
}

/// True if `task` has chunks whose frames task `to` may take.
bool DeviceScheduler::may_lose(std::uint32_t task, std::uint32_t to) const noexcept {
  const TaskState &from = tasks_[task], &into = tasks_[to];
  const bool executes = from.at == TaskState::At::device;
  const bool placed_beside = from.at == TaskState::At::placed && from.device_class == into.device_class;
  return task != to && !executes && !placed_beside && from.resident > 0;
}

/// Returns the task that loses a chunk to `task`, or nullopt if no task can lose one. The order of preference is:
/// 1. Tasks without a job, the task with the latest next release first.
/// 2. Tasks whose job waits, the least urgent first. If a job of `task` waits, more urgent tasks lose no chunks.
/// 3. Tasks with a staged or preempted job in a frozen level (less urgent than the most urgent level with an unfinished
/// job), the lowest level first.
std::optional<std::uint32_t> DeviceScheduler::victim_for(std::uint32_t task) const noexcept {
  std::optional<std::uint32_t> latest;
  for (std::uint32_t other = 0; other < tasks_.size(); ++other)
    if (tasks_[other].at == TaskState::At::nowhere && may_lose(other, task) &&
        (!latest || tasks_[other].next_release > tasks_[*latest].next_release))
      latest = other;
  if (latest) return latest;
  const auto from_the_lowest = std::views::reverse(state_.levels);
  for (const Level& level : from_the_lowest)
    for (const Waiting& waiting : std::views::reverse(level.waiting)) {
      if (waiting.job.task == task) return std::nullopt;
      if (may_lose(waiting.job.task, task)) return waiting.job.task;
    }
  for (const Level& level : from_the_lowest)
    for (const auto* place : {&level.staged, &level.preempted})
      if (*place && may_lose((*place)->job.task, task)) return (*place)->job.task;
  return std::nullopt;
}

std::optional<std::uint32_t> DeviceScheduler::least_recent_for(std::uint32_t task) const noexcept {
  std::optional<std::uint32_t> oldest;
  for (std::uint32_t other = 0; other < tasks_.size(); ++other)
    if (may_lose(other, task) && (!oldest || tasks_[other].last_execution < tasks_[*oldest].last_execution))
      oldest = other;
  return oldest;
}

} // namespace rtexec::policies
