// The demand bound of a device that executes jobs non-preemptively, earliest deadline first. The device may load the
// chunks of one job (the staged job) while another job executes. The bound also applies to one class of tasks on a
// device with several classes (preemption classes, segmented_tests.hpp).
#pragma once

#include "policies/exact_arithmetic.hpp"
#include "policies/device/overlap.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace rtexec::policies {

struct DemandTask {
  Nanos period = 1;
  Nanos deadline = 0; // the deadline of the device part, counted from the latest request; at most the period
  Nanos cost = 0;     // C, the execution time
  /// O: the time to load the task's chunks while another job executes (overlap.hpp); 0: no chunks are loaded
  Nanos load = 0;
  Nanos delay = 0; // the longest time by which its execution delays a concurrent load (overlap.hpp)
  /// The time for which a job of this task blocks an interval if the job is due after the end of the interval. Used
  /// only if no chunks are loaded during executions. Absent: `cost`
  std::optional<Nanos> blocking{};
  Nanos jitter = 0; // the longest time from the nominal release to the request
};

/// Work on the device in addition to the examined tasks.
struct Surroundings {
  DevicePart background{}; // for each member its maximum over the best-effort tasks
  Below below{};           // work of less urgent classes that has begun and cannot be stopped
  /// Jobs of more urgent classes. The cost of each of these loads is the whole time that one job takes from the
  /// examined tasks
  std::vector<Load> above{};
};

/// h(t) = demand + blocking + above: a bound on the work of the device in an interval of length t. Demand: jobs
/// requested and due in the interval. Blocking: other jobs that execute or are staged (loading chunks) when the
/// interval begins. Above: jobs of more urgent classes. Formulas: proofs/edf.md.
struct Demand {
  Nanos instant = 0; // t
  /// Sum of (floor((t - d) / T) + 1) C over the tasks with d <= t. d: deadline; T: period; C: cost. If chunks are
  /// loaded during executions, the charge e (Overlap::Charge::cost) replaces C, and the largest tail is added
  Wide demand = 0;
  /// The largest cost C of a task whose deadline d is longer than t, best-effort tasks included. If chunks are loaded
  /// during executions, it is the largest blocking charge instead (Overlap::Charge::blocking, Overlap::background).
  /// That charge covers the executing job and the staged job together
  Nanos blocking = 0;
  Wide above = 0; // the work of more urgent classes; if h(t) > t, only a part of this work
  /// The task that blocks; absent: a best-effort task blocks, several tasks together block, or none
  std::optional<std::size_t> blocker;
  [[nodiscard]] Nanos slack() const; // t - h(t), at least -unbounded
};

struct DemandAnalysis {
  /// False: the device is overloaded, or the utilisation is so close to 1 that some instants were not examined
  bool settled = false;
  Demand tightest;         // the demand at the instant t for which t - h(t) is smallest
  bool busy_known = false; // true if a bound on the longest busy period was found; this bound also limits h(t)
  /// By task: the smallest t - h(t) over t >= d (its deadline). The task's jobs end at least this long before their
  /// deadlines
  std::vector<Nanos> slack;
  [[nodiscard]] bool proved() const { return settled && tightest.slack() >= 0; }
};

[[nodiscard]] Demand demand_at(std::span<const DemandTask> tasks, const Surroundings& others, Nanos instant);

/// Returns a bound on the longest busy period. A busy period is a time in which some real-time job is pending at every
/// instant. Returns `unbounded` if no bound is found after some steps.
[[nodiscard]] Nanos busy_period(std::span<const DemandTask> tasks, const Surroundings& others);

/// True if the task's blocking (DemandTask::blocking) is at most its cost C. If this is true for all tasks, h(t) never
/// decreases when t grows or a deadline becomes shorter. Reason: when t reaches the deadline of a task, h(t) loses the
/// task's blocking, but gains its cost.
[[nodiscard]] inline bool blocks_no_longer_than_it_demands(const DemandTask& task) {
  return task.blocking.value_or(task.cost) <= task.cost;
}

/// Finds the smallest slack t - h(t) over all t. h(t) is limited to the longest busy period. The search examines
/// instants from large t downwards, like QPA (Zhang, Burns: Schedulability analysis for real-time systems with EDF
/// scheduling, 2009). QPA finds only the sign of the slack. `enough`: if every slack is at least this value, the result
/// may be larger than the smallest slack.
[[nodiscard]] DemandAnalysis analyse_demand(std::span<const DemandTask> tasks, const Surroundings& others,
                                            Nanos enough = unbounded);

} // namespace rtexec::policies
