#include "test/policies/segmented_oracle.hpp"

#include <algorithm>
#include <tuple>

namespace rtexec::policies::test {

using Kind = Event::Kind;
using Residence = DeviceScheduler::Residence;

namespace {

DeviceScheduler::Placed::End end_of(const SegmentedOracle::Job& job) {
  using End = DeviceScheduler::Placed::End;
  return job.withdrawn ? End::drop : job.failed ? End::failure : End::execution;
}

} // namespace

SegmentedOracle::SegmentedOracle(Plan& plan, Fault fault)
    : plan_(plan),
      fault_(fault),
      jobs_(plan.tasks.size()),
      chunks_(plan.tasks.size()),
      next_release_(plan.tasks.size()),
      stays_(plan.tasks.size()) {
  for (std::uint32_t frame = 0; frame < plan.swap->frames; ++frame) free_.insert(frame);
  for (std::uint32_t task = 0; task < plan.tasks.size(); ++task) {
    auto& slots = slots_.emplace_back(plan.tasks[task].swap_slots.size());
    const std::size_t first = wanted(task).size();
    for (auto& slot : std::span(slots).first(first)) {
      if (free_.empty()) break;
      slot = {Residence::resident, free_.extract(free_.begin()).value()};
      ++chunks_[task].resident;
    }
    chunks_[task].missing = first - chunks_[task].resident;
  }
  free_frames_ = free_.size();
}

// ---- what can happen ----

const SegmentedOracle::Job* SegmentedOracle::on_device() const {
  for (const auto& job : jobs_)
    if (job && job->place == JobState::device) return &*job;
  return nullptr;
}

bool SegmentedOracle::idle() const {
  return flights_.empty() && std::ranges::none_of(jobs_, [](const auto& job) { return job.has_value(); });
}

bool SegmentedOracle::possible(const Event& event) const {
  const auto [task, number] = event.job;
  const Job* job = task < jobs_.size() && jobs_[task] && jobs_[task]->id == event.job ? &*jobs_[task] : nullptr;
  switch (event.kind) {
  case Kind::job_requested: return task < jobs_.size() && !jobs_[task];
  case Kind::job_withdrawn: return job && !job->withdrawn;
  case Kind::segment_done:
    return job && job == on_device() && event.segment == job->done && job->done + 1 < segments_of(*job);
  case Kind::execution_done: return job && job == on_device();
  case Kind::copied_in:
  case Kind::copied_out:
    return std::ranges::any_of(flights_, [&](const Flight& flight) {
      return flight.transfer == event.transfer && flight.in == (event.kind == Kind::copied_in);
    });
  }
  return false;
}

bool SegmentedOracle::exchangeable(std::uint32_t task, const DeviceScheduler::TaskParameters& with,
                                   std::size_t room) const {
  if (task >= jobs_.size() || jobs_[task] || plan_.tasks[task].stream) return false;
  if (with.slots > 0 && plan_.tasks[task].device_class == 0) return false;
  if (with.slots > std::max(room, slots_[task].size())) return false;
  return with.slots == slots_[task].size() || chunks_[task].loading + chunks_[task].saving == 0;
}

// ---- events ----

List SegmentedOracle::on(const Event& event) {
  actions_.clear();
  const std::uint32_t task = event.job.task;
  switch (event.kind) {
  case Kind::job_requested:
    jobs_[task] = Job{event.job, event.deadline};
    next_release_[task] = event.deadline - plan_.tasks[task].device_done_by + plan_.tasks[task].period;
    break;
  case Kind::job_withdrawn: jobs_[task]->withdrawn = true; break;
  case Kind::segment_done: ended_segment(*jobs_[task]); break;
  case Kind::execution_done:
    jobs_[task].reset();
    give_back(task);
    break;
  case Kind::copied_in:
  case Kind::copied_out: ended_transfer(event); break;
  }
  settle();
  return actions_;
}

List SegmentedOracle::exchange(std::uint32_t task, const DeviceScheduler::TaskParameters& with) {
  actions_.clear();
  PlannedTask& planned = plan_.tasks[task];
  planned.device_rank = with.rank;
  planned.device_done_by = with.device_done_by;
  planned.period = with.period;
  planned.swap_slots.resize(with.slots);
  stays_[task] = with.stays;
  if (with.slots == 0) next_release_[task] = {};
  auto& slots = slots_[task];
  for (std::size_t slot = with.slots; slot < slots.size(); ++slot)
    if (slots[slot].residence == Residence::resident) free_.insert(slots[slot].frame), ++free_frames_;
  slots.resize(with.slots);
  Chunks& chunks = chunks_[task];
  chunks.resident =
      static_cast<std::size_t>(std::ranges::count(slots, Residence::resident, &DeviceScheduler::Slot::residence));
  chunks.missing = slots.size() - chunks.resident - chunks.loading - chunks.saving;
  settle();
  return actions_;
}

void SegmentedOracle::ended_segment(Job& job) {
  ++job.done;
  if (!has(Fault::keeps_what_was_read)) give_back(job.id.task);
  if (job.done < launched_) { // the next one already executes
    const bool again = is_chosen_again(job) || has(Fault::launches_in_spite);
    if (again && !has(Fault::launches_once) && (!job.withdrawn || has(Fault::launches_for_withdrawn))) launch(job);
    return;
  }
  if (class_of(job) == 0 && has(Fault::top_class_starts_again)) job.done = 0;
  const bool queue = class_of(job) == 0 || has(Fault::level_is_a_queue);
  job.place = queue ? JobState::waiting : JobState::preempted;
}

void SegmentedOracle::ended_transfer(const Event& event) {
  const auto flight = std::ranges::find(flights_, event.transfer, &Flight::transfer);
  const auto [task, slot, frame] = event.transfer;
  const JobId id = flight->job;
  const SlotRange range = wanted(task);
  const bool needed = (range.begin <= slot && slot < range.end) || has(Fault::lands_all_the_same);
  const bool there = needed && flight->in != event.failed;
  Chunks& chunks = chunks_[task];
  --(flight->in ? chunks.loading : chunks.saving);
  if (there) ++chunks.resident;
  else if (needed) ++chunks.missing;
  slots_[task][slot].residence = there ? Residence::resident : Residence::missing;
  if (!there) free_.insert(frame), ++free_frames_;
  flights_.erase(flight);
  if (!event.failed || has(Fault::failure_is_ignored)) return;
  auto& job = jobs_[id.task];
  if (has(Fault::failure_of_the_active)) {
    Job* staged = active_level() ? in_place(*active_level(), JobState::staged) : nullptr;
    if (staged) staged->failed = true;
  } else if (job && job->id == id && (job->place != JobState::device || plan_.tasks[id.task].stream)) {
    job->failed = job->place != JobState::device || !has(Fault::stream_cannot_fail);
  }
}

/// Returns the chunks that a stream does not need. It needs the chunks that its next segments read, as far as its ring
/// goes.
void SegmentedOracle::give_back(std::uint32_t task) {
  if (!plan_.tasks[task].stream || (!jobs_[task] && has(Fault::keeps_the_end))) return;
  auto& slots = slots_[task];
  Chunks& chunks = chunks_[task];
  const SlotRange range = wanted(task);
  chunks.resident = chunks.missing = 0;
  for (std::uint32_t index = 0; index < slots.size(); ++index) {
    auto& [residence, frame] = slots[index];
    const bool needed = range.begin <= index && index < range.end;
    if (!needed && residence == Residence::resident) {
      residence = Residence::missing;
      free_.insert(frame), ++free_frames_;
    }
    chunks.resident += residence == Residence::resident;
    chunks.missing += needed && residence == Residence::missing;
  }
}

SlotRange SegmentedOracle::wanted(std::uint32_t task) const {
  const auto slots = static_cast<std::uint32_t>(slots_[task].size());
  const auto& stream = plan_.tasks[task].stream;
  if (!stream) return {0, slots};
  const std::uint32_t begin = stream->reads[jobs_[task] ? jobs_[task]->done : 0].begin;
  return {begin, std::min(slots, begin + stream->ring + (has(Fault::one_frame_more) ? 1 : 0))};
}

/// Removes jobs that will not begin or continue, once no chunk moves for them.
void SegmentedOracle::let_go() {
  for (auto& job : jobs_) {
    if (!job || will_execute(&*job) || job->place == JobState::device) continue;
    if (job->place == JobState::preempted && job->withdrawn && has(Fault::withdrawn_goes_on)) continue;
    const bool moves = std::ranges::any_of(flights_, [&](const Flight& flight) { return flight.job == job->id; });
    if (moves && !has(Fault::leaves_under_way)) continue;
    const auto active = active_level();
    counts_.dropped_begun += job->withdrawn && job->done > 0;
    counts_.failed_begun += !job->withdrawn && job->done > 0;
    counts_.dropped_frozen += job->withdrawn && active && *active < class_of(*job);
    actions_.push_back(job->withdrawn ? drop(job->id.task, job->id.number) : fail(job->id.task, job->id.number));
    const std::uint32_t task = job->id.task;
    job.reset();
    give_back(task);
  }
}

// ---- the rule ----

void SegmentedOracle::settle() {
  let_go();
  while (execute() || stage()) {}
  while (move()) {}
}

/// Applies rule (E). Returns true if an execution began.
bool SegmentedOracle::execute() {
  if (on_device()) return false;
  Job* job = chosen();
  if (job == nullptr) return false;
  const auto active = active_level();
  const Job* staged = active ? in_place(*active, JobState::staged) : nullptr;
  counts_.bypasses += staged && staged != job && job->place == JobState::waiting && class_of(*job) > 0;
  counts_.preemptions += active && class_of(*job) == 0 && in_place(*active, JobState::preempted) != nullptr;
  counts_.resumed += job->done > 0;
  ++counts_.starts;
  job->place = JobState::device;
  launched_ = job->done;
  launch(*job);
  return true;
}

/// Returns the next job for the device, if the device were free.
SegmentedOracle::Job* SegmentedOracle::chosen() const {
  Job* top_class = head(0);
  const bool top_class_first = !has(Fault::top_class_after_levels);
  if (top_class && has(Fault::top_class_between_jobs))
    for (std::uint32_t level = 1; level <= lowest_level(); ++level)
      if (in_place(level, JobState::preempted)) top_class = nullptr;
  if (top_class && top_class_first) return top_class;
  const auto active = active_level();
  if (!active) return top_class;
  Job* job = chosen_of(*active);
  if (has(Fault::back_fill))
    for (std::uint32_t level = *active + 1; job == nullptr && level <= lowest_level(); ++level) job = chosen_of(level);
  return job ? job : top_class;
}

SegmentedOracle::Job* SegmentedOracle::chosen_of(std::uint32_t level) const {
  Job* staged = in_place(level, JobState::staged);
  if (Job* preempted = in_place(level, JobState::preempted)) { // (E0)
    const bool whole = complete(*preempted) || has(Fault::resumed_without_chunks);
    return whole && (will_execute(preempted) || has(Fault::withdrawn_goes_on)) ? preempted : nullptr;
  }
  Job* first = head(level); // (E1)
  if (has(Fault::bypass_from_behind))
    for (auto& job : jobs_)
      if (job && class_of(*job) == level && job->place == JobState::waiting && bypasses(*job)) first = &*job;
  if (first && staged && bypasses(*first) && !has(Fault::no_bypass) &&
      (more_urgent(*first, *staged) || has(Fault::less_urgent_bypasses)))
    return first;
  const bool whole = staged && (complete(*staged) || has(Fault::begun_without_chunks));
  return will_execute(staged) && whole ? staged : nullptr; // (E2)
}

/// True if the job on the device would be chosen again if it were not there.
bool SegmentedOracle::is_chosen_again(Job& job) const {
  job.place = class_of(job) == 0 ? JobState::waiting : JobState::preempted;
  const Job* next = chosen();
  job.place = JobState::device;
  return next == &job;
}

/// Launches the job's next segments. One of them executes at once.
void SegmentedOracle::launch(Job& job) {
  const bool streams = plan_.tasks[job.id.task].stream.has_value();
  const std::uint32_t ahead = (streams ? 0 : plan_.launch_ahead) + (has(Fault::launches_too_many) ? 1 : 0);
  const std::uint32_t until = std::min(segments_of(job), job.done + 1 + ahead);
  if (until <= launched_) return;
  Action action = start(job.id.task, job.id.number);
  action.segment = launched_;
  action.committed = until - launched_ - 1;
  counts_.ahead += action.segment > job.done;
  actions_.push_back(action);
  launched_ = until;
}

/// Applies rule (S). Returns true if a job was staged.
bool SegmentedOracle::stage() {
  for (std::uint32_t level = 1; level <= lowest_level(); ++level) {
    if (has(Fault::staged_while_active) && active_level() != level) continue;
    Job* first = head(level);
    Job* staged = in_place(level, JobState::staged);
    if (first && staged && has(Fault::stage_is_given_up) && more_urgent(*first, *staged)) {
      std::swap(first->place, staged->place);
      return true;
    }
    if (staged || !first) continue;
    first->place = JobState::staged;
    return true;
  }
  return false;
}

/// Applies rule (C): begins one transfer. Returns false if there is none.
bool SegmentedOracle::move() {
  const Job* device = on_device();
  if (has(Fault::rests_beside_top_class) && device && class_of(*device) == 0) return false;
  const auto jobs = targets();
  return std::ranges::any_of(jobs, [&](const Job* job) { return move_for(*job); });
}

/// Returns the jobs for which the loader works, usually one.
std::vector<SegmentedOracle::Job*> SegmentedOracle::targets() const {
  std::vector<Job*> jobs;
  const auto active = active_level();
  if (!active) return jobs;
  const std::uint32_t last = has(Fault::loads_for_frozen) ? lowest_level() : *active;
  for (std::uint32_t level = *active; level <= last; ++level) {
    Job* preempted = in_place(level, JobState::preempted);
    Job* staged = in_place(level, JobState::staged);
    Job* executing = in_place(level, JobState::device);
    const auto lacks = [&](const Job* job) { return will_execute(job) && chunks_[job->id.task].missing > 0; };
    if (has(Fault::streams_between_segments)) executing = nullptr;
    if (lacks(executing) && !(has(Fault::streams_last) && lacks(staged))) {
      jobs.push_back(executing);
      continue;
    }
    if (has(Fault::staged_before_preempted) && lacks(staged)) preempted = nullptr;
    if (lacks(preempted)) jobs.push_back(preempted);
    else if (lacks(staged) && !(preempted && has(Fault::only_preempted))) jobs.push_back(staged);
  }
  return jobs;
}

bool SegmentedOracle::move_for(const Job& job) {
  const std::size_t most = has(Fault::two_in_flight) ? 2 : DeviceScheduler::transfers_per_direction;
  const bool one = plan_.swap->copy_engines == 1;
  const bool may_load = one ? loading() + saving() == 0 : loading() < most;
  const bool may_save = one ? loading() + saving() == 0 : saving() < most;
  Chunks& chunks = chunks_[job.id.task];
  const Job* device = on_device();
  if (may_load && chunks.missing > 0 && free_frames_ > 0) {
    counts_.restores += job.done > 0 && !plan_.tasks[job.id.task].stream;
    counts_.streamed += job.place == JobState::device;
    counts_.streamed_again += job.place == JobState::preempted && plan_.tasks[job.id.task].stream;
    counts_.beside_top_class += device && class_of(*device) == 0;
    --chunks.missing, ++chunks.loading, --free_frames_;
    actions_.push_back(copy_in(job.id, {job.id.task, 0, 0}));
    return true;
  }
  const std::size_t soon_free = free_frames_ + (has(Fault::saves_too_much) ? 0 : saving());
  if (!may_save || chunks.missing <= soon_free) return false;
  const auto victim = victim_for(job);
  if (!victim) return false;
  const auto& other = jobs_[*victim];
  counts_.from_frozen += other && other->place != JobState::waiting;
  counts_.from_waiting += other && other->place == JobState::waiting;
  --chunks_[*victim].resident, ++chunks_[*victim].saving;
  actions_.push_back(copy_out(job.id, {*victim, 0, 0}));
  return true;
}

std::optional<std::uint32_t> SegmentedOracle::victim_for(const Job& job) const {
  std::optional<std::uint32_t> best;
  for (std::uint32_t task = 0; task < jobs_.size(); ++task) {
    if (task == job.id.task || chunks_[task].resident == 0) continue;
    if (jobs_[task] && protects(job, *jobs_[task])) continue;
    if (!best || prefers(task, *best)) best = task;
  }
  return best;
}

/// True if `other` keeps its chunks when `target` needs frames.
bool SegmentedOracle::protects(const Job& target, const Job& other) const {
  const bool same_level = class_of(target) == class_of(other);
  switch (other.place) {
  case JobState::device: return !has(Fault::takes_from_executing);
  case JobState::preempted: return same_level ? !has(Fault::takes_from_preempted) : has(Fault::spares_frozen);
  case JobState::staged: return same_level || has(Fault::spares_frozen);
  case JobState::waiting: return false;
  }
  return false;
}

/// True if a chunk of task `a` is evicted rather than one of `b`.
bool SegmentedOracle::prefers(std::uint32_t a, std::uint32_t b) const {
  const auto order = [&](std::uint32_t task) {
    const auto& job = jobs_[task];
    if (!job) return 0;
    if (job->place == JobState::waiting) return has(Fault::frozen_before_waiting) ? 2 : 1;
    return has(Fault::frozen_before_waiting) ? 1 : 2;
  };
  if (order(a) != order(b)) return order(a) < order(b);
  if (!jobs_[a])
    return has(Fault::earliest_release_first) ? next_release_[a] < next_release_[b]
                                              : next_release_[a] > next_release_[b];
  const Job &one = *jobs_[a], &other = *jobs_[b];
  if (class_of(one) != class_of(other)) return (class_of(one) > class_of(other)) != has(Fault::highest_level_first);
  if (one.place == JobState::waiting) return more_urgent(other, one);
  return (one.place == JobState::staged) != has(Fault::preempted_before_staged);
}

// ---- queries ----

std::uint32_t SegmentedOracle::lowest_level() const {
  std::uint32_t last = 1;
  for (const PlannedTask& task : plan_.tasks) last = std::max(last, task.device_class);
  return last;
}

bool SegmentedOracle::more_urgent(const Job& a, const Job& b) const {
  const auto key = [&](const Job& job) {
    const bool rank_last = class_of(job) == 0 && has(Fault::classes_as_ranks);
    const unsigned rank = plan_.tasks[job.id.task].device_rank;
    return std::tuple(rank_last ? 0 : rank, job.deadline, rank, job.id.task);
  };
  return key(a) < key(b);
}

SegmentedOracle::Job* SegmentedOracle::in_place(std::uint32_t level, JobState place) const {
  for (auto& job : jobs_)
    if (job && class_of(*job) == level && job->place == place) return &*job;
  return nullptr;
}

SegmentedOracle::Job* SegmentedOracle::head(std::uint32_t level) const {
  Job* best = nullptr;
  for (auto& job : jobs_)
    if (job && class_of(*job) == level && job->place == JobState::waiting && (!best || more_urgent(*job, *best)))
      best = &*job;
  return best;
}

bool SegmentedOracle::unfinished(std::uint32_t level) const {
  return std::ranges::any_of(jobs_, [&](const auto& job) { return job && class_of(*job) == level; });
}

std::optional<std::uint32_t> SegmentedOracle::active_level() const {
  std::optional<std::uint32_t> active;
  for (std::uint32_t level = 1; level <= lowest_level(); ++level)
    if (unfinished(level) && (!active || has(Fault::lowest_level_first))) active = level;
  return active;
}

bool SegmentedOracle::complete(const Job& job) const {
  const std::uint32_t task = job.id.task;
  const auto& stream = plan_.tasks[task].stream;
  const bool ring_counts = job.done == 0 ? !has(Fault::begins_with_its_reads) : has(Fault::waits_for_the_ring);
  if (!stream || ring_counts) return chunks_[task].resident == wanted(task).size();
  const auto [begin, end] = stream->reads[job.done];
  const auto read = std::span(slots_[task]).subspan(begin, end - begin);
  return std::ranges::all_of(read, [](auto& slot) { return slot.residence == Residence::resident; }) ||
         (has(Fault::goes_on_without) && job.done > 0);
}

bool SegmentedOracle::bypasses(const Job& job) const {
  const bool never_swaps = slots_[job.id.task].empty() || stays_[job.id.task] || has(Fault::bypass_by_any);
  return never_swaps && complete(job);
}

std::size_t SegmentedOracle::loading() const {
  std::size_t sum = 0;
  for (const Chunks& chunks : chunks_) sum += chunks.loading;
  return sum;
}

std::size_t SegmentedOracle::saving() const {
  std::size_t sum = 0;
  for (const Chunks& chunks : chunks_) sum += chunks.saving;
  return sum;
}

// ---- against the scheduler ----

const char* SegmentedOracle::carry_out(std::span<const Action> actions) {
  for (const Action& action : actions) {
    const auto [task, index, frame] = action.transfer;
    if (action.kind == Action::Kind::start_execution) {
      const std::span slots = slots_[action.job.task];
      const auto& stream = plan_.tasks[action.job.task].stream;
      const auto read =
          stream ? slots.subspan(stream->reads[action.segment].begin, stream->reads[action.segment].size()) : slots;
      const bool whole = std::ranges::all_of(read, [](auto& slot) { return slot.residence == Residence::resident; });
      if (!whole) return "a segment begins while a chunk of its job is missing";
    }
    const bool in = action.kind == Action::Kind::copy_in;
    if (!in && action.kind != Action::Kind::copy_out) continue;
    if (task >= slots_.size() || index >= slots_[task].size()) return "no such slot";
    auto& slot = slots_[task][index];
    if (in ? slot.residence != Residence::missing : slot.residence != Residence::resident)
      return in ? "loaded twice" : "saved what is not there";
    if (in && plan_.tasks[task].stream) {
      const SlotRange range = wanted(task);
      const auto first = std::ranges::find(std::span(slots_[task]).subspan(range.begin, range.size()),
                                           Residence::missing, &DeviceScheduler::Slot::residence);
      if (&*first != &slot) return "not the next chunk of a stream";
    }
    if (in ? free_.erase(frame) == 0 : slot.frame != frame) return in ? "a frame of two chunks" : "another frame";
    slot = {in ? Residence::loading : Residence::saving, frame};
    flights_.push_back({action.transfer, action.job, in});
  }
  return nullptr;
}

const char* SegmentedOracle::wrong(const DeviceScheduler::State& claimed) const {
  const Job* device = on_device();
  if (claimed.running != (device ? std::optional(device->id) : std::nullopt)) return "another job executes";
  if (device && (claimed.segment != device->done || claimed.launched != launched_)) return "another segment executes";
  if (claimed.running_end != (device ? end_of(*device) : DeviceScheduler::Placed::End::execution))
    return "the executing job's end is wrong";
  std::size_t jobs = claimed.running.has_value();
  for (std::uint32_t number = 0; number < claimed.levels.size(); ++number) {
    const auto& [preempted, staged, waiting] = claimed.levels[number];
    using Placed = DeviceScheduler::Placed;
    const auto agrees = [&](const DeviceScheduler::Waiting& entry, const Job* job) {
      ++jobs;
      return job && entry.job == job->id && entry.deadline == job->deadline && entry.done == job->done;
    };
    const auto placed = [&](const std::optional<Placed>& entry, JobState place) {
      const Job* job = in_place(number, place);
      if (!entry || !job) return !entry && !job;
      return agrees(*entry, job) && entry->end == end_of(*job);
    };
    if (!placed(preempted, JobState::preempted)) return "another job is preempted";
    if (!placed(staged, JobState::staged)) return "another job is staged";
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      const auto& job = jobs_[waiting[i].job.task];
      if (!job || job->place != JobState::waiting || !agrees(waiting[i], &*job)) return "another job waits";
      if (i > 0 && !more_urgent(*jobs_[waiting[i - 1].job.task], *job)) return "the queue is not in order";
    }
  }
  for (const auto& job : jobs_) jobs -= job.has_value();
  if (jobs != 0) return "a job is lost";
  for (std::uint32_t task = 0; task < slots_.size(); ++task)
    for (std::uint32_t slot = 0; slot < slots_[task].size(); ++slot) {
      const auto& [residence, frame] = claimed.slots[task][slot];
      if (residence != slots_[task][slot].residence) return "a slot's residence is wrong";
      if (residence != Residence::missing && frame != slots_[task][slot].frame) return "a slot's frame is wrong";
    }
  if (std::set(claimed.free.begin(), claimed.free.end()) != free_ || claimed.free.size() != free_.size())
    return "the free frames are wrong";
  if (claimed.loading != loading() || claimed.saving != saving()) return "transfers in flight are miscounted";
  return nullptr;
}

} // namespace rtexec::policies::test
