// Runs a plan in virtual time: the same DeviceScheduler and ReleaseGate as the executive, under simulated cores (preemptive,
// static priority by core rank, tasks pinned) and a simulated device. Deterministic: the same inputs give the same run.
//
// Costs that a machine adds (switches, dispatch) are not simulated; give them as part of the execution times.
// At one instant parts on cores end first, then the one on the device, then jobs are released, tasks in the order of the set.
// An abandoned job (on_overrun = "abort-job") leaves the device's queue at once; a part that has begun is waited for.
#pragma once

#include "config/plan.hpp"
#include "config/task_set.hpp"
#include "config/units.hpp"
#include "policies/device_scheduler.hpp"

#include <cstdint>
#include <functional>
#include <vector>

namespace rtexec::simulator {

enum class Part : std::uint8_t { before, device, after };

/// One step of a job, for an observer.
struct Step {
  enum class Kind : std::uint8_t {
    release, // the job starts; it is `nominal` that its deadline counts from
    skip,    // the release at `nominal` is dropped; `job` is the one to come
    request, // the first part is done: the job wants the device
    execution_start,
    execution_end,
    completion,
    abort, // the job is abandoned; it ends once a part that has begun is done
    stop,  // the task's overrun policy ends the run
  };
  Kind kind{};
  policies::JobId job;
  Instant now{};
  Instant nominal{};
};

/// Absent functions: WCETs of the plan, periodic releases, no latency, no observer.
struct Options {
  Duration horizon{0}; // simulated time; the run starts at Instant{}
  bool stop_at_miss = false;
  std::function<Duration(policies::JobId, Part)> execution;
  std::function<Instant(std::uint32_t task, Instant earliest)> release; // the task's next release, not before `earliest`
  std::function<Duration(policies::JobId)> release_latency;             // from a release to its first part being ready
  std::function<void(const Step&)> observe;
};

struct TaskStatistics {
  std::uint64_t released = 0; // jobs started
  std::uint64_t completed = 0;
  std::uint64_t missed = 0;  // jobs that ended after their deadline, were abandoned, or were late when the run ended
  std::uint64_t skipped = 0; // releases dropped
  std::uint64_t aborted = 0;
  Duration response_max{0}; // of completed jobs, from their nominal release
};

struct Outcome {
  std::vector<TaskStatistics> tasks; // in the order of the set
  std::uint64_t events = 0;          // that the device scheduler decided on
  Instant end{};
  bool stopped = false; // by an overrun policy
  [[nodiscard]] std::uint64_t missed() const;
};

/// `plan` was made for `tasks`.
[[nodiscard]] Outcome simulate(const TaskSet& tasks, const Plan& plan, const Options& options);

} // namespace rtexec::simulator
