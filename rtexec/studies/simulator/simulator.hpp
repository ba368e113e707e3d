// Runs a plan in virtual time, with the same DeviceScheduler and ReleaseGrid as the executive. Cores are simulated
// (preemptive, tasks pinned; static priority by core rank, or the plan's reservations). So is a device with one or two
// copy engines, as the plan says: two engines copy one way each, one engine copies both ways. Each engine serves its
// transfers in the order of their actions. The simulation is deterministic: the same inputs give the same run.
//
// Ends of jobs release the tasks that follow them (Task::after), through a SporadicGate; under `let` the jobs'
// deadlines release them. Tasks that inputs or calls release come as if by a timer, unless Options::release says
// otherwise.
//
// A device part of several segments is divided as its segments are planned, or evenly if their WCETs are not known.
//
// Costs that a machine adds (switches, dispatch) are not simulated; callers include them in the execution times. At one
// instant parts on cores end first, then transfers (in before out), then the part on the device; then jobs are
// released, tasks in the order of the set. If two executions co-run, that of the queue's head ends first. A job aborted
// by on_overrun = "abort-job" leaves the device's queue at once; a part or a transfer that has begun is completed.
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

/// Returns the time of this part.
[[nodiscard]] constexpr auto& of(auto& wcet, Part part) {
  return part == Part::before ? wcet.before : part == Part::device ? wcet.device : wcet.after;
}

/// One step of a job, as an observer sees it.
struct Step {
  enum class Kind : std::uint8_t {
    release, // the job starts; its deadline counts from `nominal`
    skip,    // the release at `nominal` is dropped; `job` is the next job
    request, // the first part is done, and the job requests the device
    hand_on, // the first part is done, and the last one begins: the task does not use the device
    execution_start,
    segment_end,   // the end of `segment` of the job, which is not its last one
    segment_begin, // the begin of `segment`, which is not the job's first one
    preemption,    // the job leaves the device between two segments
    resumption,    // the job goes on after a preemption
    execution_end,
    completion,
    abort,          // the job is aborted; it ends once a part that has begun is done
    stop,           // a policy of the task ends the run
    transfer_begin, // of `action`, a copy_in or copy_out for `job`
    transfer_end,
    fail, // the job ends because a transfer that it needed has failed
  };
  Kind kind{};
  policies::JobId job;
  Instant now{};
  Instant nominal{};                                                 // not set for transfers
  policies::Action action{};                                         // set for transfers
  bool failed = false;                                               // set at the end of a transfer
  std::uint32_t segment = 0;                                         // set at the begin and the end of a segment
  policies::ReleaseReason reason = policies::ReleaseReason::overrun; // of a skip or a stop
};

/// The actions that the device scheduler decided because of an event.
struct Decision {
  const policies::Event& event;
  std::span<const policies::Action> actions;
};

/// A time interval in which a part had its core.
struct Stretch {
  policies::JobId job;
  unsigned core = 0;
  Instant begin{}, end{};
};

/// A stop of the machine, or of parts of it, from `begin` on. Work there, running or begun meanwhile, ends later by the
/// time that it shares with the stop. No reservation's runtime is used up. Releases keep their nominal instants.
struct MachineStop {
  Instant begin{};
  Duration length{0};
  std::function<bool(unsigned core)> cores{}; // returns true for a core that stops; absent: all stop
  bool device = true;
  bool transfers = true;
  bool releases = true; // threads wake up later for their releases
};

/// The options of a run. Defaults of absent functions: WCETs and swap costs of the plan, periodic releases, no latency,
/// no failure, no observer.
struct Options {
  Duration horizon{0}; // simulated time; the run starts at Instant{}
  bool stop_at_miss = false;
  std::function<Duration(policies::JobId, Part)> execution;
  /// Returns the time of a job's device part while a job of another task co-runs
  std::function<Duration(policies::JobId, policies::JobId other)> execution_beside{};
  /// Returns the task's next release, not before `earliest`; nullopt if it is not known yet. Then the simulator asks
  /// again whenever something has happened. It does not ask for tasks that are released after another one
  std::function<std::optional<Instant>(std::uint32_t task, Instant earliest)> release;
  /// Returns the time from a release until the first part is ready
  std::function<Duration(policies::JobId)> release_latency;
  /// Returns how long a transfer takes instead of its planned time
  std::function<Duration(const policies::Action&, Duration planned)> transfer;
  std::function<bool(const policies::Action&)> transfer_fails; // called at the end of the transfer
  /// Returns the next stop, not before `now`, or nullopt if it is not known yet. Called whenever something has happened
  /// and no stop is to come
  std::function<std::optional<MachineStop>(Instant now)> stop;
  std::vector<Neighbour> neighbours{};     // used if the plan has reservations
  std::vector<CoreRegulation> regulated{}; // used otherwise
  std::function<void(const Step&)> observe;
  std::function<void(const Stretch&)> observe_core; // called when the interval, or the run, has ended
  /// Called when a part gets its core, which it may lose at the same instant
  std::function<void(policies::JobId, unsigned core, Instant)> observe_dispatch;
  std::function<void(const Decision&)> observe_decision; // called before the actions take effect
};

struct TaskStatistics {
  std::uint64_t released = 0; // jobs started
  std::uint64_t completed = 0;
  /// Jobs that ended after their deadline, were aborted, failed, or were late when the run ended
  std::uint64_t missed = 0;
  std::uint64_t skipped = 0; // releases dropped
  std::uint64_t aborted = 0;
  std::uint64_t failed = 0;
  std::uint64_t paired = 0; // jobs that began on the device while a job of another task executed
  // number of times that a job left the device between two segments, with more to execute
  std::uint64_t preempted = 0;
  std::uint64_t chunks_in = 0;      // chunks of its memory that were copied in
  std::uint64_t chunks_out = 0;     // chunks of its memory that were copied out
  std::uint64_t chunks_dropped = 0; // chunks taken away without a copy
  Duration response_max{0};         // of completed jobs, from their nominal release
  Duration unfinished{0};           // age of the job that the end of the run cut off
  [[nodiscard]] Duration longest() const { return std::max(response_max, unfinished); }
};

struct Outcome {
  std::vector<TaskStatistics> tasks; // in the order of the set
  std::uint64_t events = 0;          // number of events that the device scheduler decided on
  Instant end{};
  bool stopped = false; // a task's policy stopped the run
  [[nodiscard]] std::uint64_t missed() const;
};

/// Simulates `plan`, which must have been made for `tasks`.
[[nodiscard]] Outcome simulate(const TaskSet& tasks, const Plan& plan, const Options& options);

} // namespace rtexec::simulator
