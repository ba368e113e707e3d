// Runs a plan in virtual time, with the DeviceScheduler and the ReleaseGrid of the executive. Cores are simulated as
// preemptive, with pinned tasks. The cores use static priority by core rank (the order of urgency on a core), or the
// plan's reservations. The device has one or two copy engines, as the plan specifies. If the device has two copy
// engines, each engine copies in one direction. A single engine copies in both directions. Each engine processes its
// transfers in the order of their actions. The simulation is deterministic: the same inputs give the same run.
//
// The end of a job releases the tasks that follow the job's task (Task::after), through a SporadicGate. With
// communication `let`, the job's deadline releases these tasks instead. If inputs or calls release a task, the
// simulator releases the task as if by a timer, unless Options::release specifies other releases.
//
// The time of a device part with several segments is divided in proportion to the planned times of the segments, or
// evenly if their WCETs are not known.
//
// The simulator adds no overheads of a machine (switches, dispatch), so callers include them in the execution times.
// The order of events at one instant is: ends of parts on cores, ends of transfers (in before out), end of the part on
// the device, releases of jobs. Tasks are released in the order of the set. If two executions co-run and end together,
// the execution of the first job in the device's queue ends first. A job aborted by on_overrun = "abort-job" leaves the
// device's queue immediately. A part or a transfer that has begun is completed.
#pragma once

#include <rtexec/plan.hpp>
#include <rtexec/task_set.hpp>
#include <rtexec/units.hpp>
#include "policies/scheduler/device_scheduler.hpp"
#include "policies/scheduler/release_grid.hpp"
#include "rtexec/studies/simulator/core_supply.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace rtexec::simulator {

/// Returns the member of `wcet` (a Wcet) for this part.
[[nodiscard]] constexpr auto& of(auto& wcet, Part part) {
  return part == Part::before ? wcet.before : part == Part::device ? wcet.device : wcet.after;
}

/// A step of a job, reported to observers.
struct Step {
  enum class Kind : std::uint8_t {
    release, // the job starts; its deadline counts from `nominal`
    skip,    // the release at `nominal` is dropped; `job` is the number of the next job
    request, // the first part is done, and the job needs the device
    hand_on, // the first part is done, and the last part follows: the task does not use the device
    execution_start,
    segment_end,   // end of `segment`, which is not the job's last segment
    segment_begin, // begin of `segment`, which is not the job's first segment
    preemption,    // the job leaves the device between two segments
    resumption,    // the job continues on the device after a preemption
    execution_end,
    completion,
    abort,          // the job is aborted; a part that has begun is completed first
    stop,           // a policy of the task ends the whole run
    transfer_begin, // begin of `action`, a copy_in or copy_out for `job`
    transfer_end,
    fail, // the job ends because one of its transfers has failed
  };
  Kind kind{};
  policies::JobId job;
  Instant now{};
  Instant nominal{};                                                 // not set for transfers
  policies::Action action{};                                         // set for transfers
  bool failed = false;                                               // set at the end of a transfer
  std::uint32_t segment = 0;                                         // set at the begin and the end of a segment
  policies::ReleaseReason reason = policies::ReleaseReason::overrun; // reason of a skip or a stop
};

/// The scheduler's actions as a result of one event.
struct Decision {
  const policies::Event& event;
  std::span<const policies::Action> actions;
};

/// A time interval in which a part had its core.
struct TimeInterval {
  policies::JobId job;
  unsigned core = 0;
  Instant begin{}, end{};
};

/// A stop of the machine, or of parts of it (a platform stall). Work that is running during a stop ends later by the
/// time that it is stopped. No runtime of a reservation is used up. Nominal releases do not change.
struct MachineStop {
  Instant begin{};
  Duration length{0};
  std::function<bool(unsigned core)> cores{}; // returns true for a core that stops; absent: all cores stop
  bool device = true;
  bool transfers = true;
  bool releases = true; // true if a stop also delays the wake-up of threads for releases
};

/// The options of a run. Defaults of absent functions: WCETs and swap costs of the plan, periodic releases, no latency,
/// no failure, no observer.
struct Options {
  Duration horizon{0}; // simulated time; the run starts at Instant{}
  bool stop_at_miss = false;
  std::function<Duration(policies::JobId, Part)> execution;
  /// Returns the time of a job's device part if job `other` of another task co-runs
  std::function<Duration(policies::JobId, policies::JobId other)> co_run_execution{};
  /// Returns the task's next release, at `earliest` or later. Returns nullopt if the release is not known yet; the
  /// simulator then calls again after the next event. Not called for tasks that other tasks release
  std::function<std::optional<Instant>(std::uint32_t task, Instant earliest)> release;
  /// Returns the time from a release until the first part is ready
  std::function<Duration(policies::JobId)> release_latency;
  /// Returns the time that a transfer takes. `planned`: its time in the plan
  std::function<Duration(const policies::Action&, Duration planned)> transfer;
  std::function<bool(const policies::Action&)> transfer_fails; // called at the end of the transfer
  /// Returns the next stop, at `now` or later. Returns nullopt if no stop is known yet. The simulator calls this
  /// function after each event, unless it already knows a stop or a stop is in progress
  std::function<std::optional<MachineStop>(Instant now)> stop;
  std::vector<InterferenceTask> interference{}; // used if the plan has reservations
  std::vector<CoreRegulation> regulated{};      // used if the plan has no reservations
  std::function<void(const Step&)> observe;
  std::function<void(const TimeInterval&)> observe_core; // called when the interval or the run ends
  /// Called when a part gets its core. The part may lose the core at the same instant
  std::function<void(policies::JobId, unsigned core, Instant)> observe_dispatch;
  std::function<void(const Decision&)> observe_decision; // called before the actions are carried out
};

struct TaskStatistics {
  std::uint64_t released = 0; // number of started jobs
  std::uint64_t completed = 0;
  /// Jobs that ended after their deadline, were aborted, failed, or were late when the run ended
  std::uint64_t missed = 0;
  std::uint64_t skipped = 0; // number of dropped releases
  std::uint64_t aborted = 0;
  std::uint64_t failed = 0;
  std::uint64_t paired = 0; // jobs that began on the device while a job of another task executed
  // The number of times that a job left the device between two of its segments
  std::uint64_t preempted = 0;
  std::uint64_t chunks_in = 0;      // chunks of its memory that were copied in
  std::uint64_t chunks_out = 0;     // chunks of its memory that were copied out
  std::uint64_t chunks_dropped = 0; // chunks of its memory that were taken away without a copy
  Duration response_max{0};         // the longest response of completed jobs, counted from their nominal releases
  Duration unfinished{0};           // the age of the job that had not ended at the end of the run; 0: there was none
  [[nodiscard]] Duration longest() const { return std::max(response_max, unfinished); }
};

struct Outcome {
  std::vector<TaskStatistics> tasks; // in the order of the set
  std::uint64_t events = 0;          // number of events that the device scheduler handled
  Instant end{};
  bool stopped = false; // a task's policy ended the run
  [[nodiscard]] std::uint64_t missed() const;
};

/// Simulates `plan`. The plan must have been made for `tasks`.
[[nodiscard]] Outcome simulate(const TaskSet& tasks, const Plan& plan, const Options& options);

} // namespace rtexec::simulator
