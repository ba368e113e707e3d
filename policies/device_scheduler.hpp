// The scheduler of one device: events in, actions out. The same object decides for the executive (real time), the
// simulator (virtual time) and the trace checker (recorded time): the same events give the same actions.
//
// Jobs execute non-preemptively, one at a time, or two where the plan lets them (below). The most urgent waiting job is
// the one of the smallest device rank, then of the earliest absolute deadline, then of the lowest task index, then of
// the lowest job number. make_plan() turns that one rule into both orders: under EDF all real-time tasks share rank 0
// and best-effort tasks share rank 1; under static priority every task has its own.
//
// Where the plan swaps, a job executes only when every swap slot of its task holds a chunk. Which chunk (frame) stands
// in which slot is decided here, chunk by chunk; who carries the copies out reports each one's end. Four rules
// (swap_rule.hpp), by the plan's swap policy:
//
// - pipelined (policies/proofs/pipelined.md): one job runs and one is staged, whose chunks are loaded beside
//   it, with at most three transfers in flight in each direction where there are two copy engines: one is under way,
//   one has begun and follows it without a gap, and one waits; jobs of tasks that never swap bypass a less urgent
//   staged one.
// - rt_swap: RT-Swap V-C. One swap operation at a time, which is not preempted; from the start of its swap-in to the
//   end of its execution a job is not overtaken, and a swap-in starts only for the most urgent job; swap-outs are not
//   so guarded.
// - serial: as rt_swap, but swap-outs too start only for the most urgent job, and while no job waits after its swap-in.
// - demand_paging: a job's missing chunks are brought in when its turn has come, and nothing else happens meanwhile.
//
// Victims: of tasks that neither run nor are staged and have no waiting job, the one whose next release is latest.
// Those with a waiting job lose chunks only where no other has any, the least urgent first, and none to a waiting job
// that is less urgent than theirs. demand_paging: of all that neither run nor are staged, the one whose last execution
// is oldest.
//
// Where tasks co-run (co_run.hpp), nothing is swapped, and a second job may be started together with the head of the
// queue: the first one behind it that goes with it. Nothing else is started until both have ended.
//
// A task can be exchanged for another one while the others go on (exchange()): the daemon's places, whose clients come,
// grow and go.
//
// Allocates in the constructor only. Not thread-safe: one thread feeds it.
#pragma once

#include <rtexec/plan.hpp>
#include <rtexec/units.hpp>
#include "policies/swap_rule.hpp"

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
    execution_done, // the device finished (or failed) the job
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
};

struct Action {
  enum class Kind : std::uint8_t {
    start_execution,
    copy_in,  // load `transfer`, for `job`: map the frame into the slot and fill it
    copy_out, // save `transfer`, for `job`: unmap it, and copy it out unless the slot is constant
    /// The event was not possible in this state (a job requested twice, ...): the caller's error; the state is
    /// unchanged
    refuse,
    drop, // a withdrawn job left the queue and will not execute
    fail, // a transfer that the job needed has failed; it will not execute
  };
  Kind kind{};
  JobId job;
  Transfer transfer{};
  // Of start_execution:
  bool beside = false; // at once with the job that was started before
  /// D, M or H: that of the plan, or of D/H the one for this job
  MemoryPolicy as = MemoryPolicy::device;
  friend bool operator==(const Action&, const Action&) = default;
};

class DeviceScheduler {
 public:
  struct Waiting {
    JobId job;
    Instant deadline;
    std::uint32_t rank;
  };
  /// A job that is next to execute, or is being loaded for that.
  struct Staged : Waiting {
    enum class End : std::uint8_t { execution, drop, failure };
    End end = End::execution; // how it leaves, once no transfer for it is in flight
  };
  enum class Residence : std::uint8_t { missing, loading, resident, saving };
  struct Slot {
    Residence residence = Residence::missing;
    std::uint32_t frame = 0; // unless missing
  };
  struct State {
    std::optional<JobId> running;
    /// `running` was abandoned; it still holds the device until its execution_done
    bool running_withdrawn = false;
    std::optional<JobId> beside; // was started with `running`; it may end first or last
    bool beside_withdrawn = false;
    std::optional<Staged> staged;
    std::vector<Waiting> waiting;         // by urgency, the head first; capacity reserved
    std::vector<std::vector<Slot>> slots; // by task
    std::vector<std::uint32_t> free;      // frames
    std::uint32_t loading = 0;            // transfers in flight, by direction
    std::uint32_t saving = 0;
  };

  /// `plan` gives the tasks' ranks, periods and swap slots. At most one outstanding job per task, a withdrawn one that
  /// still executes included. At first the frames hold the chunks that `resident_slots` says, and of tasks without it
  /// those of the first ones, as many as there is room for.
  /// What a place of the daemon is to the scheduler: its client's task, all of whose memory is swap slots.
  struct Tenant {
    std::uint32_t rank = 0;
    Duration device_done_by{0}; // from the nominal release
    Duration period{0};
    std::uint32_t slots = 0;
    /// Everybody's slots fit: no chunk leaves again. A job whose chunks are all there bypasses a less urgent staged one
    /// then, as one of a task without slots does.
    bool stays = false;
    friend bool operator==(const Tenant&, const Tenant&) = default;
  };
  /// Each task has room for `slots` swap slots, so that it can be exchanged for one that has more than it has now.
  explicit DeviceScheduler(const Plan& plan, std::uint32_t slots = 0);
  /// What is to be done because of `event`, in this order; valid until the next call. Never blocks, never allocates.
  [[nodiscard]] std::span<const Action> on(const Event& event) noexcept;
  /// `task` is the one that `with` describes from now on. Slots that both have keep their frames; the frames of the
  /// others are free. Returns what is to be done because of that, as on() does. Refused, with the task's number, while
  /// a job of it is outstanding, while one of its chunks moves and it would have more or fewer slots, where it would
  /// have more than there is room for or frames, and where tasks co-run. A task without slots in between leaves nothing
  /// of the one before: victims are chosen as if that had never been. The numbers of the task's jobs go on: none comes
  /// a second time. What moves for another's job ends as ordered, though free frames may have made it needless: its
  /// task's next job waits for it.
  [[nodiscard]] std::span<const Action> exchange(std::uint32_t task, const Tenant& with) noexcept;
  /// Whether request `a` is to be told before `b`, where both have come: an idle device starts what it is told first.
  [[nodiscard]] bool precedes(const Event& a, const Event& b) const noexcept;
  [[nodiscard]] const State& state() const noexcept { return state_; }
  /// Whether no job runs, is staged or waits, and nothing is copied.
  [[nodiscard]] bool idle() const noexcept;
  /// How many actions one event can cause at most.
  static constexpr std::size_t actions_per_event = 8;
  /// In flight at most, under the pipelined rule with two copy engines; else it is one in all.
  static constexpr std::uint32_t transfers_per_direction = 3;

 private:
  /// What the scheduler keeps of one task, beside its slots.
  struct TaskState {
    std::uint32_t rank = 0;
    Duration device_done_by{0};
    Duration period{0};
    MemoryPolicy policy = MemoryPolicy::device;
    std::optional<CoRun> co_run{};
    Instant next_release{};           // of the job after the one requested last
    std::uint64_t last_execution = 0; // in the order of all executions
    bool waits = false;
    bool stays = false;                      // Tenant::stays
    std::uint32_t resident = 0, missing = 0; // slots; the others are on their way
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

  // What an event changes; false: refused.
  [[nodiscard]] bool request(const Event& event) noexcept;
  [[nodiscard]] bool withdraw(JobId job) noexcept;
  [[nodiscard]] bool finish(JobId job) noexcept;
  [[nodiscard]] bool copied(const Event& event) noexcept;
  void fail_job_of(const Event& event) noexcept;
  [[nodiscard]] bool exchangeable(std::uint32_t task, std::uint32_t slots) const noexcept;
  [[nodiscard]] bool outstanding(std::uint32_t task) const noexcept;
  void resize(std::uint32_t task, std::uint32_t size) noexcept;

  // What is to be done then.
  void settle() noexcept;
  void end_staged() noexcept;
  void execute_in_pairs() noexcept;
  void execute_pipelined() noexcept;
  void execute_swapped() noexcept;
  void execute_paged() noexcept;
  void start(JobId job, bool paired = false) noexcept;
  void start_beside(JobId job) noexcept;
  void start_staged() noexcept;
  void stage_head() noexcept;
  Waiting take_head() noexcept { return take(0); }
  Waiting take(std::size_t place) noexcept;
  [[nodiscard]] std::optional<std::size_t> partner_of_head() const noexcept;
  [[nodiscard]] MemoryPolicy policy_for(std::uint32_t task, bool paired) const noexcept;

  void transfer_pipelined() noexcept;
  void transfer_operation() noexcept;
  void transfer_paged() noexcept;
  [[nodiscard]] std::optional<Operation> next_operation() noexcept;
  void copy_in(const Waiting& job) noexcept;
  void copy_out(std::uint32_t victim, JobId job) noexcept;
  [[nodiscard]] std::optional<std::uint32_t> victim_for(std::uint32_t task) const noexcept;
  [[nodiscard]] std::optional<std::uint32_t> least_recent_for(std::uint32_t task) const noexcept;
  [[nodiscard]] bool may_lose(std::uint32_t task, std::uint32_t to) const noexcept;

  [[nodiscard]] bool complete(std::uint32_t task) const noexcept {
    return tasks_[task].resident == state_.slots[task].size();
  }
  [[nodiscard]] bool bypasses(std::uint32_t task) const noexcept {
    return (state_.slots[task].empty() || tasks_[task].stays) && complete(task);
  }
  /// Whether what is in flight is for the staged job.
  [[nodiscard]] bool moves_for_staged() const noexcept {
    return !in_operations(rule_) || operation_.job == state_.staged->job;
  }
  [[nodiscard]] bool staged_will_execute() const noexcept {
    return state_.staged && state_.staged->end == Staged::End::execution;
  }
  [[nodiscard]] bool staged_is_loading() const noexcept {
    return staged_will_execute() && !complete(state_.staged->job.task);
  }
  [[nodiscard]] bool staged_is_complete() const noexcept {
    return staged_will_execute() && complete(state_.staged->job.task);
  }

  SwapRule rule_ = SwapRule::pipelined;
  bool co_runs_ = false;
  std::uint32_t room_ = 0;                            // slots that a task may have after an exchange
  std::uint32_t in_flight_ = transfers_per_direction; // of pipelined, in each direction; 1: in both together
  std::vector<TaskState> tasks_;
  std::uint64_t executions_ = 0;
  Operation operation_; // serial, rt_swap; done when none is left and nothing is in flight
  State state_;
  std::vector<Action> actions_; // because of the last event; capacity reserved
};

} // namespace rtexec::policies
