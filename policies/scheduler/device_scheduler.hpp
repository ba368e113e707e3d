// The scheduler of one device: events in, actions out. The same object decides for the executive (real time), the
// simulator (virtual time) and the trace checker (recorded time). The same events always give the same actions. The
// *driver* is the caller that reports events and carries out actions.
//
// A job is a sequence of one or more segments, each executed non-preemptively. The device executes one job at a time,
// or two if the plan lets tasks co-run (below). The most urgent job of a class (PlannedTask::device_class) is the job
// with the smallest device rank. Ties are broken by the earliest absolute deadline, then the lowest task index, then
// the lowest job number. make_plan() expresses both orders by ranks. Under EDF all real-time tasks have rank 0, and
// best-effort tasks have rank 1. Under static priority every task has a rank of its own.
//
// If the plan swaps, a job executes only when every swap slot of its task has a chunk on the device. A *slot* is the
// address range for one chunk in the task's memory. A *frame* is a physical chunk of the device. The scheduler decides,
// chunk by chunk, which frame is mapped into which slot. The driver carries out the copies and reports the end of each
// copy. The plan's swap policy selects one of four rules (swap_rule.hpp):
//
// - pipelined (policies/proofs/pipelined.md): one job executes, and one job is *staged*, that is, chosen to execute
//   next. The chunks of the staged job are loaded while the other job executes. With two copy engines, at most three
//   transfers are in flight in each direction: one executes, one is submitted and follows without a gap, and one waits.
//   A job of a task that never swaps bypasses a less urgent staged job: it begins before the staged job.
//
//   With classes, each class 1, 2, .. is a *level* that follows this rule on its own. Only the most urgent level with
//   an unfinished job begins segments and transfers. The levels below it are *frozen*, and the level may take their
//   frames. A job that was preempted between two segments gets its chunks back before it continues. Top-class jobs
//   (class 0) never swap, and precede all other jobs at every end of a segment. Transfers continue while top-class jobs
//   execute. Only the next `launch_ahead` segments of the executing job are submitted to the device before the segments
//   ahead of them have ended.
//
//   A streaming job (policies/proofs/streaming.md) loads its constants while it executes, through a *ring* of frames,
//   which the constants use in turn. At the beginning the ring has the chunks of the first slots, one chunk per frame.
//   At the end of each segment, the chunks that no later segment reads are freed. The next chunks are loaded into the
//   frames of the freed chunks. These loads precede the loads of the staged job. A segment begins when the chunks that
//   it reads are resident.
// - rt_swap: the rule of RT-Swap (Kang et al., RTSS 2023, section V-C). One swap operation is in progress at a time,
//   and is not preempted. From the start of its swap-in to the end of its execution a job is not overtaken. A swap-in
//   starts only for the most urgent job. A swap-out may start for any job.
// - serial: the rule rt_swap with one more restriction. A swap-out, too, starts only for the most urgent job, and does
//   not start while a loaded job waits for the device.
// - demand_paging: the missing chunks of a job are loaded only when the job is the next to execute. During these loads
//   no other job executes, and no other chunk moves.
//
// The rules other than pipelined have one level, and one segment for each job, even if the plan has more levels or
// segments.
//
// A *victim* is a task that loses a chunk to another task. The first choice is the task without a job whose next
// release is latest. If no task without a job has chunks to lose, the victim is the least urgent task with a waiting
// job. A waiting job takes no chunk from a more urgent waiting job. The last choice is a task with a staged or
// preempted job in a frozen level, the lowest level first. Under demand_paging the victim is the task whose last
// execution is oldest, among the tasks whose job neither executes nor is staged.
//
// If tasks co-run (co_run.hpp), nothing is swapped, and no job is divided into segments. A second job may start
// together with the head of the queue. The second job is the first job behind the head for which goes_with() is true.
// No other job starts until both jobs have ended.
//
// exchange() replaces a task by another task while the other tasks continue. The daemon has one task for each client
// slot, and calls exchange() when a client connects, grows or leaves.
//
// Allocates in the constructor only. Not thread-safe: one thread delivers all events.
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

/// A copy of a chunk between a frame and the backing store.
struct Transfer {
  std::uint32_t task = 0;  // the task whose memory moves
  std::uint32_t slot = 0;  // index in PlannedTask::swap_slots
  std::uint32_t frame = 0; // 0 .. SwapPlan::frames - 1
  friend bool operator==(const Transfer&, const Transfer&) = default;
};

struct Event {
  enum class Kind : std::uint8_t {
    job_requested,  // the job's CPU part is done and it needs the device; `deadline` orders jobs of equal rank
    job_withdrawn,  // the job is aborted: it leaves the queue or, if it executes already, its result is not used
    segment_done,   // the device finished `segment`, which is not the job's last segment
    execution_done, // the device finished the job, or the job failed in one of its segments
    copied_in,      // `transfer` has ended; transfers may end in any order
    copied_out,
  };
  Kind kind{};
  JobId job; // not set for transfers
  Instant now{};
  /// The deadline of the device part: nominal release + PlannedTask::device_done_by; job_requested only
  Instant deadline{};
  Transfer transfer{};
  /// True if the transfer failed. The slot is then in its state before the transfer. After a failed copy-out the frame
  /// still has its contents
  bool failed = false;
  std::uint32_t segment = 0; // segment_done only
};

struct Action {
  enum class Kind : std::uint8_t {
    /// Submit `segment` and the next `committed` segments to the device, after the segments of the job that were
    /// submitted before
    start_execution,
    copy_in,  // load `transfer`, for `job`: map the frame into the slot and fill it
    copy_out, // save `transfer`, for `job`: unmap it, and copy it out unless the slot is constant
    /// The event is impossible in this state (for example, a job is requested twice), which is an error of the caller.
    /// The state of the scheduler does not change
    refuse,
    drop, // a withdrawn job left the scheduler: it does not execute or continue
    fail, // a transfer that the job needed failed: the job does not execute or continue
  };
  Kind kind{};
  JobId job;
  Transfer transfer{};
  // The following are set for start_execution:
  bool co_running = false; // true if the job executes concurrently with the job that was started before it
  /// The memory policy of this execution: D (device memory), M (managed memory) or H (host memory). If the plan's
  /// policy is D/H, the scheduler has chosen D or H
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
    std::uint32_t done = 0; // the number of segments that are done
  };
  /// A job that is preempted or staged in its level (see the beginning of this file).
  struct Placed : Waiting {
    enum class End : std::uint8_t { execution, drop, failure };
    End end = End::execution; // how the job leaves this state, once none of its transfers is in flight
  };
  /// The jobs of one class, without the executing job.
  struct Level {
    std::optional<Placed> preempted; // a job that has begun
    std::optional<Placed> staged;    // the job that begins next; its chunks may still be loading
    std::vector<Waiting> waiting;    // by urgency, the most urgent first; capacity reserved
    [[nodiscard]] bool empty() const noexcept { return !preempted && !staged && waiting.empty(); }
  };
  enum class Residence : std::uint8_t { missing, loading, resident, saving };
  struct Slot {
    Residence residence = Residence::missing;
    std::uint32_t frame = 0; // undefined if the chunk is missing
  };
  struct State {
    std::optional<JobId> running;
    /// How the job `running` leaves the device. A withdrawn or failed job still occupies the device until its submitted
    /// segments have ended
    Placed::End running_end = Placed::End::execution;
    std::uint32_t segment = 0;       // the segment of `running` that executes now
    std::uint32_t launched = 0;      // the number of segments of `running` that are submitted to the device
    std::optional<JobId> co_running; // the job that executes concurrently with `running`; either job may end first
    bool co_running_withdrawn = false;
    std::vector<Level> levels;            // by class; the queue of class 0 also has top-class jobs that have begun
    std::vector<std::vector<Slot>> slots; // by task
    std::vector<std::uint32_t> free;      // free frames
    std::uint32_t loading = 0;            // the numbers of transfers in flight in each direction
    std::uint32_t saving = 0;
    /// True if any job waits, is staged or is preempted.
    [[nodiscard]] bool wanted() const noexcept;
  };

  /// The parameters of a task that exchange() changes. The daemon calls exchange() when a client changes; each client
  /// is one task. All memory of such a task is in swap slots. The task's class and segments do not change: the
  /// constructor takes them from the plan.
  struct TaskParameters {
    std::uint32_t rank = 0;
    Duration device_done_by{0}; // the deadline of the device part, counted from the nominal release
    Duration period{0};
    std::uint32_t slots = 0;
    /// True if the slots of all tasks fit on the device, so that no chunk is ever evicted. A job whose chunks are all
    /// resident then bypasses a less urgent staged job (begins before it), as a job of a task without slots does.
    bool stays = false;
    friend bool operator==(const TaskParameters&, const TaskParameters&) = default;
  };
  /// Takes the classes, segments, ranks, periods and swap slots of tasks from `plan`. A task may have at most one
  /// outstanding job. This includes a withdrawn job that still executes. At first the frames have the first
  /// `resident_slots` chunks of each task. If `resident_slots` is not set, they have as many of the task's first chunks
  /// as fit. `slots`: the number of swap slots that exchange() can assign to each task, if this number exceeds the
  /// task's number in `plan`.
  explicit DeviceScheduler(const Plan& plan, std::uint32_t slots = 0);
  /// Returns the actions that follow from `event`, in the order in which the caller must carry them out. The returned
  /// actions are valid until the next call. Never blocks, never allocates.
  [[nodiscard]] std::span<const Action> on(const Event& event) noexcept;
  /// Replaces `task` by the task that `with` describes. The slots that both the old and the new task have keep their
  /// frames. The frames of other slots become free. Returns the actions that follow, as on() does. Returns a refusal
  /// (Action::Kind::refuse) with the task's number in these cases:
  /// - A job of the task is outstanding.
  /// - A chunk of the task moves, and the number of slots would change.
  /// - The new task would have more slots than the constructor allows for it, or than there are frames.
  /// - The task is a top-class task and would have slots.
  /// - The task streams, or tasks co-run.
  ///
  /// An exchange to 0 slots clears the task's history: victims are then chosen as if the old task had never existed.
  /// The job numbers of the task continue, so that no number is used twice. Transfers in flight for other jobs
  /// continue, even if freed frames have made them unnecessary. If such a transfer moves a chunk of the task, the next
  /// job of the task waits for it.
  [[nodiscard]] std::span<const Action> exchange(std::uint32_t task, const TaskParameters& with) noexcept;
  /// True if request `a` must be delivered before request `b` when both have arrived. The order matters, since an idle
  /// device starts the job of the request that is delivered first.
  [[nodiscard]] bool precedes(const Event& a, const Event& b) const noexcept;
  [[nodiscard]] const State& state() const noexcept { return state_; }
  /// Returns the number of segments of a job of `task`: the planned number, or 1 under a rule that supports only one
  /// segment.
  [[nodiscard]] std::uint32_t segments_of(std::uint32_t task) const noexcept { return tasks_[task].segments; }
  /// True if no job runs, is staged or waits, and nothing is copied.
  [[nodiscard]] bool idle() const noexcept;
  /// The largest number of actions that one event can cause.
  static constexpr std::size_t actions_per_event = 8;
  /// The largest number of transfers in flight in each direction, under the pipelined rule with two copy engines. In
  /// other cases there is at most one transfer in flight.
  static constexpr std::uint32_t transfers_per_direction = 3;

 private:
  /// The scheduler's state of one task, apart from its slots.
  struct TaskState {
    /// The state of the task's job: no job, waiting, staged or preempted, or executing
    enum class At : std::uint8_t { nowhere, waiting, placed, device };
    std::uint32_t device_class = 1;
    std::uint32_t segments = 1;
    std::uint32_t rank = 0;
    Duration device_done_by{0};
    Duration period{0};
    MemoryPolicy policy = MemoryPolicy::device;
    std::optional<CoRun> co_run{};
    Instant deadline{};     // the deadline of the task's job
    Instant next_release{}; // the release of the job after the last requested job
    /// The number of the task's last execution. Executions of all tasks are numbered together, from 1; 0: none
    std::uint64_t last_execution = 0;
    At at = At::nowhere;
    bool stays = false; // see TaskParameters::stays
    /// The slots that the task needs: all of them, or the current window of a stream
    SlotRange wanted{};
    /// The numbers of resident and of missing slots in `wanted`. The other slots in `wanted` are being copied
    std::uint32_t resident = 0, missing = 0;
    /// The slots at which the round-robin searches for a chunk to copy out and a chunk to copy in begin
    std::uint32_t next_out = 0, next_in = 0;
  };
  /// A swap operation of the rules serial and rt_swap. It moves chunks of one task and is not preempted.
  struct Operation {
    bool out = false;
    std::uint32_t task = 0;
    std::uint32_t left = 0; // the number of chunks whose transfer has not begun
    JobId job;              // the job that needs the operation
  };

  /// A transfer in flight.
  struct Flight {
    std::uint32_t frame = 0;
    JobId job; // the job that needs the transfer
  };

  // Event handlers and their helpers. The handlers change the state. They return false if they refuse the event.
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

  // Decisions: they start executions and transfers.
  void settle() noexcept;
  void end_placed(std::optional<Placed>& place) noexcept;
  void execute_in_pairs() noexcept;
  void settle_levels() noexcept;
  void execute_next_of(Level& level) noexcept;
  void execute_swapped() noexcept;
  void execute_paged() noexcept;
  void start(const Waiting& job, bool paired = false) noexcept;
  void start_co_running(JobId job) noexcept;
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
  /// Returns the level under the rules that have only one level.
  [[nodiscard]] Level& only_level() noexcept { return state_.levels[1]; }

  SwapRule rule_ = SwapRule::pipelined;
  bool co_runs_ = false;
  std::uint32_t room_ = 0; // the maximum number of slots that a task may have after an exchange
  /// The maximum number of transfers in flight in each direction, with two copy engines (pipelined rule). 1: at most
  /// one transfer at a time, in either direction. 0: nothing is swapped
  std::uint32_t in_flight_ = 0;
  std::uint32_t launch_ahead_ = 0;
  std::vector<TaskState> tasks_;
  std::vector<Stream> streams_; // by task; a task without a ring does not stream
  std::vector<Flight> flights_;
  std::uint64_t executions_ = 0;
  /// For serial and rt_swap: the current operation. It has ended when all its chunks have moved
  Operation operation_;
  State state_;
  std::vector<Action> actions_; // caused by the last event; capacity reserved
};

} // namespace rtexec::policies
