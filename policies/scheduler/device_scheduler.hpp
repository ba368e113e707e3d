// The scheduler of one device: events in, actions out. The same object decides for the executive (real time), the
// simulator (virtual time) and the trace checker (recorded time): the same events give the same actions.
//
// A job is a sequence of segments, often of one, each executed non-preemptively: one at a time, or two jobs where the
// plan lets them (below). The most urgent job of a class (PlannedTask::device_class) is the one of the smallest device
// rank, then of the earliest absolute deadline, then of the lowest task index, then of the lowest job number.
// make_plan() turns that one rule into both orders: under EDF all real-time tasks share rank 0 and best-effort tasks
// share rank 1; under static priority every task has its own.
//
// Where the plan swaps, a job executes only when every swap slot of its task holds a chunk. Which chunk (frame) stands
// in which slot is decided here, chunk by chunk; who carries the copies out reports each one's end. Four rules
// (swap_rule.hpp), by the plan's swap policy:
//
// - pipelined (policies/proofs/pipelined.md): one job runs and one is staged, whose chunks are loaded beside
//   it, with at most three transfers in flight in each direction where there are two copy engines: one is under way,
//   one has begun and follows it without a gap, and one waits; jobs of tasks that never swap bypass a less urgent
//   staged one.
//   With classes, each of 1, 2, .. is a level that follows this rule for itself, and only the most urgent level that
//   has an unfinished job begins segments and transfers: the levels below it are frozen. What they hold on the device
//   may leave for it; a job that was preempted between two segments gets its chunks back before it goes on. Express
//   jobs, those of class 0, never swap, and go before all others at every end of a segment. Transfers go on beside
//   them. Only the next `launch_ahead` segments of the executing job are given to the device ahead of their turn.
//   A job that streams (policies/proofs/streaming.md) begins with the first chunks of its slots, as many as its ring
//   has frames. What the segments to come do not read is given back at the end of each; as many of the next chunks
//   follow, before those of the staged job, also while it executes. A segment begins once the chunks that it reads are
//   there.
// - rt_swap: RT-Swap V-C. One swap operation at a time, which is not preempted; from the start of its swap-in to the
//   end of its execution a job is not overtaken, and a swap-in starts only for the most urgent job; swap-outs are not
//   so guarded.
// - serial: as rt_swap, but swap-outs too start only for the most urgent job, and while no job waits after its swap-in.
// - demand_paging: a job's missing chunks are brought in when its turn has come, and nothing else happens meanwhile.
//
// The other rules know one level and one segment for each job, whatever the plan says.
//
// Victims: of tasks without a job, the one whose next release is latest. Those with a waiting job lose chunks only
// where no other has any, the least urgent first, and none to a waiting job that is less urgent than theirs. After them
// come the staged and the preempted jobs of frozen levels, of the lowest level first. demand_paging: of all that
// neither run nor are staged, the one whose last execution is oldest.
//
// Where tasks co-run (co_run.hpp), nothing is swapped or divided into segments, and a second job may be started
// together with the head of the queue: the first one behind it that goes with it. Nothing else is started until both
// have ended.
//
// A task can be exchanged for another one while the others go on (exchange()): the daemon's places, whose clients come,
// grow and go.
//
// Allocates in the constructor only. Not thread-safe: one thread feeds it.
#pragma once

#include <rtexec/plan.hpp>
#include <rtexec/units.hpp>
#include "policies/scheduler/swap_rule.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace rtexec::policies {

struct JobId {
  std::uint32_t task = 0;
  std::uint64_t number = 0;
  friend auto operator<=>(const JobId&, const JobId&) = default;
};

/// A chunk on its way between a frame and its place in the backing store.
struct Transfer {
  std::uint32_t task = 0;  // whose memory moves
  std::uint32_t slot = 0;  // index in PlannedTask::swap_slots
  std::uint32_t frame = 0; // 0 .. SwapPlan::frames - 1
  friend bool operator==(const Transfer&, const Transfer&) = default;
};

struct Event {
  enum class Kind : std::uint8_t {
    job_requested,  // the job's CPU part is done and it wants the device; `deadline` orders it
    job_withdrawn,  // the job is abandoned: taken from the queue, or its completion will be of no use
    segment_done,   // the device finished `segment` of the job, which is not its last one
    execution_done, // the device finished the job, or it failed in any of its segments
    copied_in,      // `transfer` has ended; transfers may end in any order
    copied_out,
  };
  Kind kind{};
  JobId job; // not of transfers
  Instant now{};
  Instant deadline{}; // of the device part: nominal release + PlannedTask::device_done_by; job_requested only
  Transfer transfer{};
  /// Of a transfer: the slot is as it was before, and so is the frame's contents of a copy-out
  bool failed = false;
  std::uint32_t segment = 0; // segment_done only
};

struct Action {
  enum class Kind : std::uint8_t {
    start_execution, // of `segment` and the `committed` ones behind it, after what the device has of the job already
    copy_in,         // load `transfer`, for `job`: map the frame into the slot and fill it
    copy_out,        // save `transfer`, for `job`: unmap it, and copy it out unless the slot is constant
    /// The event was not possible in this state (a job requested twice, ...): the caller's error; the state is
    /// unchanged
    refuse,
    drop, // a withdrawn job left: it will not execute, or not go on
    fail, // a transfer that the job needed has failed: likewise
  };
  Kind kind{};
  JobId job;
  Transfer transfer{};
  // Of start_execution:
  bool beside = false; // at once with the job that was started before
  /// D, M or H: that of the plan, or of D/H the one for this job
  MemoryPolicy as = MemoryPolicy::device;
  std::uint32_t segment = 0;
  std::uint32_t committed = 0;
  friend bool operator==(const Action&, const Action&) = default;
};

class DeviceScheduler {
 public:
  struct Waiting {
    JobId job;
    Instant deadline;
    std::uint32_t rank = 0;
    std::uint32_t done = 0; // segments
  };
  /// A job that holds a place of its level.
  struct Placed : Waiting {
    enum class End : std::uint8_t { execution, drop, failure };
    End end = End::execution; // how it leaves, once no transfer for it is in flight
  };
  /// The jobs of one class, the one that executes aside.
  struct Level {
    std::optional<Placed> preempted; // has begun
    std::optional<Placed> staged;    // is next to begin, or is being loaded for that
    std::vector<Waiting> waiting;    // by urgency, the head first; capacity reserved
    [[nodiscard]] bool empty() const noexcept { return !preempted && !staged && waiting.empty(); }
  };
  enum class Residence : std::uint8_t { missing, loading, resident, saving };
  struct Slot {
    Residence residence = Residence::missing;
    std::uint32_t frame = 0; // unless missing
  };
  struct State {
    std::optional<JobId> running;
    /// How `running` will leave: one that will not execute still holds the device until the segments that were launched
    /// have ended
    Placed::End running_end = Placed::End::execution;
    std::uint32_t segment = 0;   // of `running`, that executes
    std::uint32_t launched = 0;  // of its segments: the first so many have been given to the device
    std::optional<JobId> beside; // was started with `running`; it may end first or last
    bool beside_withdrawn = false;
    std::vector<Level> levels;            // by class; express jobs wait, those that have begun too
    std::vector<std::vector<Slot>> slots; // by task
    std::vector<std::uint32_t> free;      // frames
    std::uint32_t loading = 0;            // transfers in flight, by direction
    std::uint32_t saving = 0;
    /// Whether the device has jobs beside those that execute.
    [[nodiscard]] bool wanted() const noexcept;
  };

  /// The part of a task that exchange() changes; all of its memory is swap slots. Class and segments are those of the
  /// plan's task. The daemon has one task for each client.
  struct TaskParameters {
    std::uint32_t rank = 0;
    Duration device_done_by{0}; // from the nominal release
    Duration period{0};
    std::uint32_t slots = 0;
    /// Everybody's slots fit: no chunk leaves again. A job whose chunks are all there bypasses a less urgent staged one
    /// then, as one of a task without slots does.
    bool stays = false;
    friend bool operator==(const TaskParameters&, const TaskParameters&) = default;
  };
  /// `plan` gives the tasks' classes, segments, ranks, periods and swap slots. At most one outstanding job per task, a
  /// withdrawn one that still executes included. At first the frames hold the chunks that `resident_slots` says, and of
  /// tasks without it those of the first ones, as many as there is room for.
  /// Each task has room for `slots` swap slots, so that it can be exchanged for one that has more than it has now.
  explicit DeviceScheduler(const Plan& plan, std::uint32_t slots = 0);
  /// What is to be done because of `event`, in this order; valid until the next call. Never blocks, never allocates.
  [[nodiscard]] std::span<const Action> on(const Event& event) noexcept;
  /// `task` is the one that `with` describes from now on. Slots that both have keep their frames; the frames of the
  /// others are free. Returns what is to be done because of that, as on() does. Refused, with the task's number, while
  /// a job of it is outstanding, while one of its chunks moves and it would have more or fewer slots, where it would
  /// have more than there is room for or frames, or any as an express task, and where tasks co-run. A task without
  /// slots in between leaves nothing of the one before: victims are chosen as if that had never been. The numbers of
  /// the task's jobs go on: none comes a second time. What moves for another's job ends as ordered, though free frames
  /// may have made it needless: its task's next job waits for it.
  [[nodiscard]] std::span<const Action> exchange(std::uint32_t task, const TaskParameters& with) noexcept;
  /// Whether request `a` is to be told before `b`, where both have come: an idle device starts what it is told first.
  [[nodiscard]] bool precedes(const Event& a, const Event& b) const noexcept;
  [[nodiscard]] const State& state() const noexcept { return state_; }
  /// How many segments a job of `task` has: as planned, or 1 under a rule that knows no more.
  [[nodiscard]] std::uint32_t segments_of(std::uint32_t task) const noexcept { return tasks_[task].segments; }
  /// Whether no job runs, is staged or waits, and nothing is copied.
  [[nodiscard]] bool idle() const noexcept;
  /// How many actions one event can cause at most.
  static constexpr std::size_t actions_per_event = 8;
  /// In flight at most, under the pipelined rule with two copy engines; else it is one in all.
  static constexpr std::uint32_t transfers_per_direction = 3;

 private:
  /// What the scheduler keeps of one task, beside its slots.
  struct TaskState {
    /// Where its job is
    enum class At : std::uint8_t { nowhere, waiting, placed, device };
    std::uint32_t device_class = 1;
    std::uint32_t segments = 1;
    std::uint32_t rank = 0;
    Duration device_done_by{0};
    Duration period{0};
    MemoryPolicy policy = MemoryPolicy::device;
    std::optional<CoRun> co_run{};
    Instant deadline{};               // of its job
    Instant next_release{};           // of the job after the one requested last
    std::uint64_t last_execution = 0; // in the order of all executions
    At at = At::nowhere;
    bool stays = false;                      // TaskParameters::stays
    SlotRange wanted{};                      // slots: all, or of a stream those that are to be there from now on
    std::uint32_t resident = 0, missing = 0; // of these; the others are on their way
    /// Slots where the search for a chunk to move begins: they move in turn
    std::uint32_t next_out = 0, next_in = 0;
  };
  /// One swap operation of RT-Swap: chunks of one task, not to be preempted.
  struct Operation {
    bool out = false;
    std::uint32_t task = 0;
    std::uint32_t left = 0; // chunks to begin
    JobId job;              // that it is for
  };

  /// A transfer under way.
  struct Flight {
    std::uint32_t frame = 0;
    JobId job; // that it is for
  };

  // What an event changes; false: refused.
  [[nodiscard]] bool request(const Event& event) noexcept;
  [[nodiscard]] bool withdraw(JobId job) noexcept;
  [[nodiscard]] bool end_segment(const Event& event) noexcept;
  [[nodiscard]] bool finish(JobId job) noexcept;
  [[nodiscard]] bool copied(const Event& event) noexcept;
  void fail(JobId job) noexcept;
  bool leave_queue(JobId job, Action::Kind how) noexcept;
  void leave(JobId job, Action::Kind how) noexcept;
  void yield() noexcept;
  void want(std::uint32_t task, std::uint32_t segment) noexcept;
  [[nodiscard]] bool is_next_again() const noexcept;
  [[nodiscard]] Waiting running_entry() const noexcept;
  [[nodiscard]] bool exchangeable(std::uint32_t task, std::uint32_t slots) const noexcept;
  void resize(std::uint32_t task, std::uint32_t size) noexcept;

  // What is to be done then.
  void settle() noexcept;
  void end_placed(std::optional<Placed>& place) noexcept;
  void execute_in_pairs() noexcept;
  void settle_levels() noexcept;
  void execute_next_of(Level& level) noexcept;
  void execute_swapped() noexcept;
  void execute_paged() noexcept;
  void start(const Waiting& job, bool paired = false) noexcept;
  void start_beside(JobId job) noexcept;
  bool start_if_ready(std::optional<Placed>& place) noexcept;
  void launch(bool paired = false) noexcept;
  void stage_head(Level& level) noexcept;
  void place(std::optional<Placed>& free, const Waiting& job, Placed::End end = Placed::End::execution) noexcept;
  void enqueue(const Waiting& job) noexcept;
  Waiting take(Level& level, std::size_t place = 0) noexcept;
  [[nodiscard]] std::optional<std::size_t> partner_of_head() const noexcept;
  [[nodiscard]] MemoryPolicy policy_for(std::uint32_t task, bool paired) const noexcept;

  void transfer_for(const Level& level) noexcept;
  bool load(const Waiting& job) noexcept;
  void transfer_operation() noexcept;
  void transfer_paged() noexcept;
  [[nodiscard]] std::optional<Operation> next_operation() noexcept;
  void copy_in(const Waiting& job) noexcept;
  void copy_out(std::uint32_t victim, JobId job) noexcept;
  void order(Action::Kind copy, JobId job, const Transfer& transfer) noexcept;
  [[nodiscard]] std::optional<std::uint32_t> victim_for(std::uint32_t task) const noexcept;
  [[nodiscard]] std::optional<std::uint32_t> least_recent_for(std::uint32_t task) const noexcept;
  [[nodiscard]] bool may_lose(std::uint32_t task, std::uint32_t to) const noexcept;

  [[nodiscard]] bool complete(std::uint32_t task) const noexcept {
    return tasks_[task].resident == tasks_[task].wanted.size();
  }
  [[nodiscard]] bool may_begin(const Waiting& job) const noexcept;
  [[nodiscard]] bool streams(std::uint32_t task) const noexcept { return streams_[task].ring > 0; }
  [[nodiscard]] bool bypasses(std::uint32_t task) const noexcept {
    return (state_.slots[task].empty() || tasks_[task].stays) && complete(task);
  }
  [[nodiscard]] static bool will_execute(const std::optional<Placed>& place) noexcept {
    return place && place->end == Placed::End::execution;
  }
  [[nodiscard]] Level& level_of(std::uint32_t task) noexcept { return state_.levels[tasks_[task].device_class]; }
  /// Of the rules that know one level.
  [[nodiscard]] Level& only_level() noexcept { return state_.levels[1]; }

  SwapRule rule_ = SwapRule::pipelined;
  bool co_runs_ = false;
  std::uint32_t room_ = 0;      // slots that a task may have after an exchange
  std::uint32_t in_flight_ = 0; // of pipelined at most, in each direction; 1: in both together; 0: nothing is swapped
  std::uint32_t launch_ahead_ = 0;
  std::vector<TaskState> tasks_;
  std::vector<Stream> streams_; // by task; without a ring: it streams nothing
  std::vector<Flight> flights_;
  std::uint64_t executions_ = 0;
  Operation operation_; // serial, rt_swap; done when none is left and nothing is in flight
  State state_;
  std::vector<Action> actions_; // because of the last event; capacity reserved
};

} // namespace rtexec::policies
