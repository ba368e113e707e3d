// Demand bound of a device that executes jobs non-preemptively, earliest deadline first, and may load one job's chunks
// meanwhile; or of one class of tasks on a device with several (segmented_tests.hpp).
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
  Nanos deadline = 0; // of the device part, after the latest request; at most the period
  Nanos cost = 0;     // C
  Nanos load = 0;     // o, beside the execution of another job (overlap.hpp); 0: never
  Nanos delay = 0;    // of loads beside its execution (overlap.hpp)
  /// By a job due later, where nothing is loaded beside others; absent: its cost
  std::optional<Nanos> blocking{};
  Nanos jitter = 0; // of the request, after the nominal release
};

/// What else the device has to do.
struct Surroundings {
  DevicePart background{}; // the longest parts of best-effort tasks
  Below below{};           // of less urgent classes
  /// Jobs of more urgent classes, with all that they cost the tasks in question
  std::vector<Load> above{};
};

/// h(t) = demand + blocking + above: what the device may have to do in an interval of length t, of jobs requested and
/// due in it, and of those that execute or are staged when it begins.
struct Demand {
  Nanos instant = 0; // t
  /// Sum of (floor((t - d) / T) + 1) C over tasks with d <= t; of e, and a tail, where jobs are loaded
  Wide demand = 0;
  /// Largest C of a task with d > t, best-effort tasks included; where jobs are loaded: of both
  Nanos blocking = 0;
  Wide above = 0;                     // of more urgent classes; where h(t) > t, what is known of it
  std::optional<std::size_t> blocker; // that task; absent: a best-effort task, any that executes, or none
  [[nodiscard]] Nanos slack() const;  // t - h(t), at least -unbounded
};

struct DemandAnalysis {
  /// False: overloaded, or the utilisation is too close to 1 to examine every instant
  bool settled = false;
  Demand tightest;         // where t - h(t) is smallest
  bool busy_known = false; // the longest busy period was found, and bounds h(t)
  /// By task: the smallest t - h(t) over t >= d; its jobs end that much before their deadline
  std::vector<Nanos> slack;
  [[nodiscard]] bool proved() const { return settled && tightest.slack() >= 0; }
};

[[nodiscard]] Demand demand_at(std::span<const DemandTask> tasks, const Surroundings& others, Nanos instant);

/// At least as long as a real-time job is ever pending without a break; `unbounded` where that is not soon found.
[[nodiscard]] Nanos busy_period(std::span<const DemandTask> tasks, const Surroundings& others);

/// Whether h(t) never falls as t or a deadline grows shorter: no job blocks for longer than it demands once it is due.
[[nodiscard]] inline bool blocks_no_longer_than_it_demands(const DemandTask& task) {
  return task.blocking.value_or(task.cost) <= task.cost;
}

/// Examines every t, walking down as in QPA (Zhang, Burns: Schedulability analysis for real-time systems with EDF
/// scheduling, 2009), but for the smallest slack instead of its sign; h(t) is at most the longest busy period.
/// Where no slack is less than `enough`, those that are told may be larger than the smallest.
[[nodiscard]] DemandAnalysis analyse_demand(std::span<const DemandTask> tasks, const Surroundings& others,
                                            Nanos enough = unbounded);

} // namespace rtexec::policies
