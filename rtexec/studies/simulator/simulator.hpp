// Runs a plan in virtual time: the same DeviceScheduler and ReleaseGrid as the executive, under simulated cores
// (preemptive, tasks pinned; static priority by core rank, or the plan's reservations) and a simulated device with one
// or two copy engines, as the plan says: two copy one way each, one copies both ways, and each serves its transfers in
// the order of their actions. Deterministic: the same inputs give the same run.
//
// The ends of jobs release the tasks that follow them (Task::after), through a SporadicGate; under `let` their
// deadlines do. Tasks that inputs or calls release come as if by a timer, unless Options::release says otherwise.
//
// A device part of several segments is divided into them as they are planned, evenly where their WCETs are not known.
//
// Costs that a machine adds (switches, dispatch) are not simulated; give them as part of the execution times.
// At one instant parts on cores end first, then transfers (in before out), then the part on the device, then jobs are
// released, tasks in the order of the set. Of two parts that execute beside each other the head's ends first. An
// abandoned job (on_overrun = "abort-job") leaves the device's queue at
// once; a part or a transfer that has begun is waited for.
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

/// The time of this part.
[[nodiscard]] constexpr auto& of(auto& wcet, Part part) {
  return part == Part::before ? wcet.before : part == Part::device ? wcet.device : wcet.after;
}

/// One step of a job, for an observer.
struct Step {
  enum class Kind : std::uint8_t {
    release, // the job starts; it is `nominal` that its deadline counts from
    skip,    // the release at `nominal` is dropped; `job` is the one to come
    request, // the first part is done: the job wants the device
    hand_on, // the first part is done, and the last one begins: the task does not use the device
    execution_start,
    segment_end,   // of `segment` of the job, which is not its last one
    segment_begin, // and of one that is not its first
    preemption,    // the job leaves the device between two segments
    resumption,    // and goes on there
    execution_end,
    completion,
    abort,          // the job is abandoned; it ends once a part that has begun is done
    stop,           // a policy of the task ends the run
    transfer_begin, // of `action`, a copy_in or copy_out for `job`
    transfer_end,
    fail, // the job ends, because a transfer that it needed has failed
  };
  Kind kind{};
  policies::JobId job;
  Instant now{};
  Instant nominal{};                                                 // not of transfers
  policies::Action action{};                                         // of transfers
  bool failed = false;                                               // of a transfer's end
  std::uint32_t segment = 0;                                         // of a segment's begin and end
  policies::ReleaseReason reason = policies::ReleaseReason::overrun; // of a skip or a stop
};

/// What the device scheduler decided because of an event.
struct Decision {
  const policies::Event& event;
  std::span<const policies::Action> actions;
};

/// A stretch of time in which a part had its core.
struct Stretch {
  policies::JobId job;
  unsigned core = 0;
  Instant begin{}, end{};
};

/// The machine, or a part of it, does nothing from `begin` on: what is under way there, or begins meanwhile, ends later
/// by what it shares with the stop. No reservation's runtime is used up. Releases keep their nominal instants.
struct MachineStop {
  Instant begin{};
  Duration length{0};
  std::function<bool(unsigned core)> cores{}; // that stop; absent: all
  bool device = true;
  bool transfers = true;
  bool releases = true; // threads wake up later for them
};

/// Absent functions: WCETs and swap costs of the plan, periodic releases, no latency, no failure, no observer.
struct Options {
  Duration horizon{0}; // simulated time; the run starts at Instant{}
  bool stop_at_miss = false;
  std::function<Duration(policies::JobId, Part)> execution;
  /// Of the device part of a job, while one of another task executes beside it
  std::function<Duration(policies::JobId, policies::JobId other)> execution_beside{};
  /// The task's next release, not before `earliest`; none yet: asked again whenever something has happened. Not asked
  /// for a task that is released after another
  std::function<std::optional<Instant>(std::uint32_t task, Instant earliest)> release;
  /// From a release to its first part being ready
  std::function<Duration(policies::JobId)> release_latency;
  /// How long it takes instead of what is planned for it
  std::function<Duration(const policies::Action&, Duration planned)> transfer;
  std::function<bool(const policies::Action&)> transfer_fails; // asked at its end
  /// Asked whenever something has happened and no stop is to come: the next one, not before `now`, or none yet
  std::function<std::optional<MachineStop>(Instant now)> stop;
  std::vector<Neighbour> neighbours{};     // where the plan has reservations
  std::vector<CoreRegulation> regulated{}; // otherwise
  std::function<void(const Step&)> observe;
  std::function<void(const Stretch&)> observe_core; // when the stretch has ended, or the run
  /// A part gets its core; it may lose it at the same instant
  std::function<void(policies::JobId, unsigned core, Instant)> observe_dispatch;
  std::function<void(const Decision&)> observe_decision; // before anything comes of it
};

struct TaskStatistics {
  std::uint64_t released = 0; // jobs started
  std::uint64_t completed = 0;
  /// Jobs that ended after their deadline, were abandoned, failed, or were late when the run ended
  std::uint64_t missed = 0;
  std::uint64_t skipped = 0; // releases dropped
  std::uint64_t aborted = 0;
  std::uint64_t failed = 0;
  std::uint64_t paired = 0;         // begun on the device beside jobs of others
  std::uint64_t preempted = 0;      // how often jobs left the device between two segments and had more to execute
  std::uint64_t chunks_in = 0;      // of its memory, copied in
  std::uint64_t chunks_out = 0;     // copied out
  std::uint64_t chunks_dropped = 0; // taken away without a copy
  Duration response_max{0};         // of completed jobs, from their nominal release
  Duration unfinished{0};           // the age of the job that the end of the run cut off
  [[nodiscard]] Duration longest() const { return std::max(response_max, unfinished); }
};

struct Outcome {
  std::vector<TaskStatistics> tasks; // in the order of the set
  std::uint64_t events = 0;          // that the device scheduler decided on
  Instant end{};
  bool stopped = false; // by a task's policy
  [[nodiscard]] std::uint64_t missed() const;
};

/// `plan` was made for `tasks`.
[[nodiscard]] Outcome simulate(const TaskSet& tasks, const Plan& plan, const Options& options);

} // namespace rtexec::simulator
