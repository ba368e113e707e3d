// The demand bound of a device that executes jobs non-preemptively, earliest deadline first, and may load one job's
// chunks during an execution. It also serves for one class of tasks on a device with several classes
// (segmented_tests.hpp).
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
  Nanos deadline = 0; // of the device part, counted from the latest request; at most the period
  Nanos cost = 0;     // C, the execution time
  Nanos load = 0;     // o, the time to load its chunks while another job executes (overlap.hpp); 0: it loads none
  Nanos delay = 0;    // by how much a concurrent load may end later because of its execution (overlap.hpp)
  /// How long a job of this task blocks if it is due later and no chunks are loaded during executions; absent: for its
  /// cost
  std::optional<Nanos> blocking{};
  Nanos jitter = 0; // the latest request after the nominal release
};

/// The work on the device beyond the examined tasks.
struct Surroundings {
  DevicePart background{}; // the longest parts of best-effort tasks
  Below below{};           // work of less urgent classes that has begun
  /// Jobs of more urgent classes, each with all the time that it costs the examined tasks
  std::vector<Load> above{};
};

/// h(t) = demand + blocking + above: the most work that the device may have in an interval of length t. Demand: jobs
/// requested and due in the interval. Blocking: jobs that execute or are staged (loading chunks) when it begins.
/// Formulas: proofs/edf.md.
struct Demand {
  Nanos instant = 0; // t
  /// Sum of (floor((t - d) / T) + 1) C over tasks with d <= t. If chunks are loaded during executions, the charge e
  /// (Overlap::Charge::cost) replaces C, and the largest tail is added
  Wide demand = 0;
  /// The largest C of a task with d > t, best-effort tasks included. If chunks are loaded during executions, it is
  /// instead the largest blocking charge (Overlap::Charge::blocking, Overlap::background), which covers the executing
  /// job and the staged job together
  Nanos blocking = 0;
  Wide above = 0;                     // work of more urgent classes; if h(t) > t, only the known part of it
  std::optional<std::size_t> blocker; // the task that blocks; absent: a best-effort task, no single one, or none
  [[nodiscard]] Nanos slack() const;  // t - h(t), at least -unbounded
};

struct DemandAnalysis {
  /// False: overloaded, or the utilisation is so close to 1 that not every instant could be examined
  bool settled = false;
  Demand tightest;         // at the instant at which t - h(t) is smallest
  bool busy_known = false; // a bound on the longest busy period was found; it also bounds h(t)
  /// By task: the smallest t - h(t) over t >= d. Its jobs end by at least that much before their deadline
  std::vector<Nanos> slack;
  [[nodiscard]] bool proved() const { return settled && tightest.slack() >= 0; }
};

[[nodiscard]] Demand demand_at(std::span<const DemandTask> tasks, const Surroundings& others, Nanos instant);

/// Returns a bound on a busy period: the time without a break in which some real-time job is pending. `unbounded` if
/// none is found after some steps.
[[nodiscard]] Nanos busy_period(std::span<const DemandTask> tasks, const Surroundings& others);

/// True if the task blocks for no longer than it demands once it is due. If all tasks do so, h(t) never falls as t
/// grows or a deadline gets shorter.
[[nodiscard]] inline bool blocks_no_longer_than_it_demands(const DemandTask& task) {
  return task.blocking.value_or(task.cost) <= task.cost;
}

/// Finds the smallest slack t - h(t) over all t, by walking from large t downwards as QPA does (Zhang, Burns:
/// Schedulability analysis for real-time systems with EDF scheduling, 2009). QPA looks only for the sign of the slack.
/// h(t) is limited to the longest busy period. If no slack is less than `enough`, the result may be larger than the
/// smallest slack.
[[nodiscard]] DemandAnalysis analyse_demand(std::span<const DemandTask> tasks, const Surroundings& others,
                                            Nanos enough = unbounded);

} // namespace rtexec::policies
