#include "test/policies/swap_book.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace rtexec::policies::test {
namespace {

constexpr std::size_t max_in_flight = DeviceScheduler::transfers_per_direction;

} // namespace

Book::Book(const Plan& plan, bool filled)
    : plan_(plan),
      jobs_(plan.tasks.size()),
      stays_(plan.tasks.size()),
      next_release_(plan.tasks.size()),
      last_execution_(plan.tasks.size(), 0) {
  if (plan.swap) {
    policy_ = plan.swap->policy;
    frames_.resize(plan.swap->frames);
  }
  std::uint32_t frame = 0;
  for (std::uint32_t task = 0; task < plan.tasks.size(); ++task) {
    auto& slots = residences_.emplace_back(plan.tasks[task].swap_slots.size(), Residence::missing);
    for (std::uint32_t slot = 0; filled && slot < slots.size() && frame < frames_.size(); ++slot) {
      slots[slot] = Residence::resident;
      frames_[frame++] = {task, slot};
    }
  }
}

bool Book::possible(const Event& event) const {
  const auto [task, number] = event.job;
  switch (event.kind) {
  case Event::Kind::job_requested: return task < jobs_.size() && !jobs_[task];
  case Event::Kind::job_withdrawn:
    return task < jobs_.size() && jobs_[task] && jobs_[task]->id == event.job && !jobs_[task]->withdrawn;
  case Event::Kind::segment_done: return false; // each job is one segment
  case Event::Kind::execution_done: return running_ == event.job;
  case Event::Kind::copied_in: return std::ranges::count(ins_, event.transfer, &Flight::transfer) > 0;
  case Event::Kind::copied_out: return std::ranges::count(outs_, event.transfer, &Flight::transfer) > 0;
  }
  return false;
}

bool Book::idle() const {
  return ins_.empty() && outs_.empty() && std::ranges::none_of(jobs_, [](const auto& job) { return job.has_value(); });
}

void Book::enter(const Event& event, std::span<const Action> actions, const State& claimed) {
  happened(event);
  follow(actions, claimed);
}

bool Book::exchangeable(std::uint32_t task, std::size_t slots) const {
  const auto moves = [&](const Flight& flight) { return flight.transfer.task == task; };
  return !jobs_[task] && (slots == residences_[task].size() ||
                          (std::ranges::none_of(ins_, moves) && std::ranges::none_of(outs_, moves)));
}

void Book::exchanged(std::uint32_t task, bool stays, std::span<const Action> actions, const State& claimed) {
  stays_[task] = stays;
  auto& slots = residences_[task];
  const std::size_t size = plan_.tasks[task].swap_slots.size();
  require(size <= frames_.size(), "exchanged for a task that can never execute");
  for (auto& owner : frames_)
    if (owner && owner->task == task && owner->slot >= size) owner.reset();
  slots.resize(size, Residence::missing);
  for (Flight& flight : outs_) flight.needless = true;
  if (size == 0) {
    next_release_[task] = {};
    last_execution_[task] = 0;
  }
  follow(actions, claimed);
}

/// Enters the actions that followed an event.
void Book::follow(std::span<const Action> actions, const State& claimed) {
  staged_before_ = staged_;
  const auto& staged = claimed.levels[1].staged;
  staged_ = staged ? std::optional(staged->job) : std::nullopt;
  for (const Action& action : actions) done(action);
  check_claims(claimed);
  check_slots(claimed);
  check_staged(staged, staged_before_);
  check_flights();
  check_nothing_left_undone();
}

// ---- events ----

void Book::happened(const Event& event) {
  const std::uint32_t task = event.job.task;
  switch (event.kind) {
  case Event::Kind::job_requested:
    jobs_[task] = Job{event.job, event.deadline};
    next_release_[task] = event.deadline - plan_.tasks[task].device_done_by + plan_.tasks[task].period;
    return;
  case Event::Kind::job_withdrawn:
    jobs_[task]->withdrawn = true;
    if (!operation_.out && operation_.job == event.job) operation_.left = 0;
    return;
  case Event::Kind::segment_done: return;
  case Event::Kind::execution_done:
    jobs_[task].reset();
    running_.reset();
    last_execution_[task] = ++executions_;
    return;
  case Event::Kind::copied_in: return ended(ins_, event);
  case Event::Kind::copied_out: return ended(outs_, event);
  }
}

void Book::ended(std::deque<Flight>& flights, const Event& event) {
  const auto flight = std::ranges::find(flights, event.transfer, &Flight::transfer);
  const Transfer transfer = flight->transfer;
  const JobId id = flight->job;
  flights.erase(flight);
  const bool failed = event.failed;
  const bool there = (event.kind == Event::Kind::copied_in) != failed;
  residences_[transfer.task][transfer.slot] = there ? Residence::resident : Residence::missing;
  if (!there) frames_[transfer.frame].reset();
  if (!failed) return;
  operation_.left = 0;
  if (Job* job = find(id); job && running_ != id) job->failed = true;
}

// ---- actions ----

void Book::done(const Action& action) {
  switch (action.kind) {
  case Action::Kind::start_execution: return started(action.job);
  case Action::Kind::copy_in: return copy_begun(action, true);
  case Action::Kind::copy_out: return copy_begun(action, false);
  case Action::Kind::drop: return left(action.job, true);
  case Action::Kind::fail: return left(action.job, false);
  case Action::Kind::refuse: return require(false, "a possible event was refused");
  }
}

void Book::started(JobId id) {
  ++counts_.starts;
  require(!running_, "two jobs execute");
  const Job* job = find(id);
  if (!job || job->withdrawn || job->failed) return require(false, "a job executes that must not");
  require(complete(id.task), "a job executes with a missing chunk");
  const auto other = most_urgent_but(id);
  if (staged_before_ == id) {
    const bool passed = pipelined() && other && bypasses(other->task) && more_urgent(*other, id);
    require(!passed, "a more urgent job that never swaps did not bypass");
  } else {
    require(!other || more_urgent(id, *other), "the executing job is not the most urgent");
    const bool bypass = staged_before_ && is_outstanding(*staged_before_);
    require(!bypass || (pipelined() && bypasses(id.task)), "a staged job was overtaken");
    counts_.bypasses += bypass;
  }
  running_ = id;
}

void Book::left(JobId id, bool dropped) {
  ++(dropped ? counts_.drops : counts_.fails);
  const Job* job = find(id);
  require(job && running_ != id && (dropped ? job->withdrawn : job->failed && !job->withdrawn),
          "a job left without reason");
  require(staged_before_ != id || !has_flight(id), "a staged job left while chunks are moved for it");
  if (job) jobs_[id.task].reset();
}

void Book::copy_begun(const Action& action, bool in) {
  const auto [task, slot, frame] = action.transfer;
  const bool known = task < residences_.size() && slot < residences_[task].size() && frame < frames_.size();
  if (!known) return require(false, "no such slot or frame");
  Residence& residence = residences_[task][slot];
  require(residence == (in ? Residence::missing : Residence::resident),
          in ? "loaded twice" : "saved what is not there");
  require(in ? !frames_[frame] : frames_[frame] == Owner{task, slot},
          in ? "a frame of two owners" : "a frame that is another's");
  check_copy(action, in);
  residence = in ? Residence::loading : Residence::saving;
  if (in) frames_[frame] = {task, slot};
  (in ? ins_ : outs_).push_back({action.transfer, action.job});
  ++(in ? counts_.ins : counts_.outs);
  counts_.both_ways += !ins_.empty() && !outs_.empty();
}

void Book::check_copy(const Action& action, bool in) {
  const bool of_staged = staged_ == action.job && staged_will_execute();
  if (in) require(of_staged && action.transfer.task == action.job.task, "loaded for a job that is not staged");
  if (rt_swap()) return check_operation(action, in);

  require(of_staged, "moved for a job that is not staged");
  require(in || count(action.job.task, Residence::missing) > free_frames() + outs_.size(),
          "saved more than the staged job needs");
  require(in || victim_for(action.job) == action.transfer.task, "the wrong victim");
  require(!lru() || !running_, "moved beside an execution");
}

void Book::check_operation(const Action& action, bool in) {
  if (operation_.left == 0) begin_operation(action, in);
  const bool same = operation_.out == !in && operation_.task == action.transfer.task && operation_.job == action.job;
  require(same, "a swap operation was interrupted");
  if (operation_.left > 0) --operation_.left;
}

void Book::begin_operation(const Action& action, bool in) {
  const auto job = most_urgent_lacking(staged_ == action.job ? std::nullopt : staged_);
  if (job != action.job) return require(false, "swapped for another job than the most urgent that lacks chunks");
  const std::size_t missing = count(job->task, Residence::missing);
  if (in) {
    require(!staged_before_ || !is_outstanding(*staged_before_) || running_ == staged_before_,
            "a swap-in while another job is staged");
    require(most_urgent_but(std::nullopt) == job, "a swap-in for a job that does not head the queue");
    require(missing <= free_frames(), "a swap-in that cannot be completed");
    require(!std::exchange(find(*job)->loaded, true), "two swap-ins for one job");
    operation_ = {false, job->task, *job, missing};
  } else {
    if (guarded()) {
      require(most_urgent_but(std::nullopt) == job, "a swap-out for a job that does not head the queue");
      require(!staged_ && (!staged_before_ || !is_outstanding(*staged_before_) || running_ == staged_before_),
              "a swap-out while another job is staged");
    }
    const auto victim = victim_for(*job);
    if (victim != action.transfer.task || missing <= free_frames()) return require(false, "the wrong victim");
    counts_.outs_for_others += most_urgent_but(staged_) != job;
    counts_.waiting_victims += jobs_[*victim].has_value();
    operation_ = {true, *victim, *job, std::min(missing - free_frames(), count(*victim, Residence::resident))};
  }
}

// ---- after an event ----

void Book::check_claims(const State& claimed) {
  require(claimed.running == running_, "running is wrong");
  using End = DeviceScheduler::Placed::End;
  const End end = running_ && jobs_[running_->task]->withdrawn ? End::drop : End::execution;
  require(claimed.running_end == end, "running_end is wrong");
  const auto& [preempted, staged, waiting] = claimed.levels[1];
  require(claimed.levels.size() == 2 && claimed.levels[0].empty() && !preempted, "a level that is not");
  std::size_t jobs = waiting.size() + staged.has_value() + claimed.running.has_value();
  for (const auto& job : jobs_) jobs -= job.has_value();
  require(jobs == 0, "a job is lost");
  const auto agrees = [&](const DeviceScheduler::Waiting& each) {
    const Job* job = find(each.job);
    require(job && running_ != each.job && job->deadline == each.deadline, "another job");
    require(!job || each.rank == plan_.tasks[each.job.task].device_rank, "another rank");
  };
  if (staged) agrees(*staged);
  const JobId* before = nullptr;
  for (const auto& each : waiting) {
    agrees(each);
    if (wrong_) return;
    require(staged_ != each.job && !find(each.job)->withdrawn && !find(each.job)->failed, "a job waits that must not");
    require(!before || more_urgent(*before, each.job), "the queue is not in order");
    before = &each.job;
  }
}

void Book::check_slots(const State& claimed) {
  std::size_t owned = 0;
  for (std::uint32_t task = 0; task < residences_.size(); ++task)
    for (std::uint32_t slot = 0; slot < residences_[task].size(); ++slot) {
      const auto& [residence, frame] = claimed.slots[task][slot];
      require(residence == residences_[task][slot], "a slot's residence is wrong");
      if (residence == Residence::missing) continue;
      ++owned;
      require(frame < frames_.size() && frames_[frame] == Owner{task, slot}, "a slot's frame is wrong");
    }
  require(owned + claimed.free.size() == frames_.size(), "frames are lost or more than there are");
  for (const std::uint32_t frame : claimed.free)
    require(frame < frames_.size() && !frames_[frame], "a free frame has an owner");
  require(claimed.free.size() == free_frames(), "a frame is free twice");
  require(claimed.loading == ins_.size() && claimed.saving == outs_.size(), "transfers in flight are miscounted");
}

void Book::check_staged(const std::optional<DeviceScheduler::Placed>& claimed, const std::optional<JobId>& before) {
  using End = DeviceScheduler::Placed::End;
  require(!before || !is_outstanding(*before) || running_ == before || staged_ == before, "a staged job was displaced");
  if (!claimed || wrong_) return;
  if (before != staged_) require(most_urgent_but(std::nullopt) == staged_, "the staged job was not the most urgent");
  const Job* job = find(claimed->job);
  require(claimed->end == (job->withdrawn ? End::drop
                           : job->failed  ? End::failure
                                          : End::execution),
          "the staged job's end is wrong");
  require(claimed->end == End::execution || has_flight(claimed->job), "a staged job stays for nothing");
}

void Book::check_flights() {
  const bool one = !pipelined() || !plan_.swap || plan_.swap->copy_engines == 1;
  require(one ? ins_.size() + outs_.size() <= 1 : std::max(ins_.size(), outs_.size()) <= max_in_flight,
          "too many transfers in flight");
  for (const auto& [transfer, job, needless] : outs_) {
    require(!running_ || running_->task != transfer.task, "the victim executes");
    require(!staged_ || staged_->task != transfer.task || needless, "the victim is staged");
  }
  for (const Flight& flight : ins_) require(staged_ == flight.job, "a chunk arrives for a job that is not staged");
}

void Book::check_nothing_left_undone() {
  const auto head = most_urgent_but(staged_);
  if (!running_) {
    const bool ready = staged_ && staged_will_execute() && complete(staged_->task);
    require(!ready, "the device idles while the staged job is ready");
    require(!head || staged_ || rt_swap(), "the device idles while a job waits");
    require(!rt_swap() || staged_ || !head || !complete(head->task), "the device idles while the head is complete");
    require(!pipelined() || !staged_ || !head || !bypasses(head->task) || more_urgent(*staged_, *head), "no bypass");
    require(!ins_.empty() || !outs_.empty() || (!staged_ && !head), "dead: nothing happens, and jobs wait");
  }
  require(!pipelined() || staged_ || !head, "none is staged");
  require(!lru() || !running_ || !staged_, "staged beside an execution");
  if (pipelined()) check_loader_is_eager();
  if (rt_swap()) check_swap_queue_is_served();
}

void Book::check_loader_is_eager() {
  if (!staged_ || !staged_will_execute()) return;
  const std::size_t missing = count(staged_->task, Residence::missing), free = free_frames();
  const bool one = plan_.swap && plan_.swap->copy_engines == 1;
  const bool may_load = one ? ins_.empty() && outs_.empty() : ins_.size() < max_in_flight;
  const bool may_save = one ? ins_.empty() && outs_.empty() : outs_.size() < max_in_flight;
  require(!may_load || missing == 0 || free == 0, "a chunk could be loaded");
  require(!may_save || missing <= free + outs_.size() || !victim_for(*staged_), "a chunk could be saved");
}

void Book::check_swap_queue_is_served() {
  if (!ins_.empty() || !outs_.empty()) return;
  require(operation_.left == 0, "a swap operation rests");
  const auto job = most_urgent_lacking(staged_);
  if (!job) return;
  if (guarded() && (staged_ || most_urgent_but(std::nullopt) != job)) {
    counts_.held_back += count(job->task, Residence::missing) > free_frames() && victim_for(*job);
    return;
  }
  if (count(job->task, Residence::missing) > free_frames()) return require(!victim_for(*job), "a swap-out could begin");
  require(staged_ || most_urgent_but(std::nullopt) != job, "a swap-in could begin");
}

// ---- look-ups ----

Book::Job* Book::find(JobId id) {
  return id.task < jobs_.size() && jobs_[id.task] && jobs_[id.task]->id == id ? &*jobs_[id.task] : nullptr;
}

bool Book::more_urgent(JobId a, JobId b) const {
  const auto key = [&](JobId id) {
    return std::tuple(plan_.tasks[id.task].device_rank, jobs_[id.task]->deadline, id.task, id.number);
  };
  return key(a) < key(b);
}

template <class Suits> std::optional<JobId> Book::most_urgent(const std::optional<JobId>& other, Suits suits) const {
  std::optional<JobId> best;
  for (const auto& job : jobs_)
    if (job && job->id != running_ && job->id != other && suits(job->id) && (!best || more_urgent(job->id, *best)))
      best = job->id;
  return best;
}

std::optional<JobId> Book::most_urgent_but(const std::optional<JobId>& other) const {
  return most_urgent(other, [](JobId) { return true; });
}

std::optional<JobId> Book::most_urgent_lacking(const std::optional<JobId>& other) const {
  return most_urgent(other, [&](JobId id) { return !complete(id.task); });
}

std::size_t Book::count(std::uint32_t task, Residence residence) const {
  return static_cast<std::size_t>(std::ranges::count(residences_[task], residence));
}

bool Book::staged_will_execute() {
  const Job* job = find(*staged_);
  return job && !job->withdrawn && !job->failed;
}

std::size_t Book::free_frames() const {
  return static_cast<std::size_t>(std::ranges::count_if(frames_, [](const auto& owner) { return !owner; }));
}

bool Book::has_flight(JobId id) const {
  return std::ranges::count(ins_, id, &Flight::job) + std::ranges::count(outs_, id, &Flight::job) > 0;
}

/// Returns the victim for a job, never a task whose job is running or staged. Under lru it is the task with the oldest
/// last execution, otherwise the one with the latest next release. If all have a waiting job, it is the least urgent
/// one's task, under rt-swap only if less urgent than `job`.
std::optional<std::uint32_t> Book::victim_for(JobId job) const {
  std::optional<std::uint32_t> best;
  const auto better = [&](std::uint32_t a, std::uint32_t b) {
    if (lru()) return last_execution_[a] < last_execution_[b];
    if (jobs_[a].has_value() != jobs_[b].has_value()) return !jobs_[a].has_value();
    return jobs_[a] ? more_urgent(jobs_[b]->id, jobs_[a]->id) : next_release_[a] > next_release_[b];
  };
  for (std::uint32_t task = 0; task < jobs_.size(); ++task) {
    const auto& own = jobs_[task];
    const bool held = task == job.task || (own && (own->id == running_ || own->id == staged_));
    const bool too_urgent = rt_swap() && own && !held && more_urgent(own->id, job);
    if (!held && !too_urgent && count(task, Residence::resident) > 0 && (!best || better(task, *best))) best = task;
  }
  return best;
}

} // namespace rtexec::policies::test
