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
  Nanos load = 0;     // o, while another job executes (overlap.hpp); 0: never
  Nanos delay = 0;    // of loads during its execution (overlap.hpp)
  /// The blocking by its job if that is due later and nothing is loaded during executions; absent: its cost
  std::optional<Nanos> blocking{};
  Nanos jitter = 0; // of the request, after the nominal release
};

/// The other work of the device.
struct Surroundings {
  DevicePart background{}; // the longest parts of best-effort tasks
  Below below{};           // begun work of less urgent classes
  /// Jobs of more urgent classes, with all that they cost the examined tasks
  std::vector<Load> above{};
};

/// h(t) = demand + blocking + above: the most that the device may have to do in an interval of length t. It counts jobs
/// requested and due in the interval, and jobs that execute or are staged when it begins.
struct Demand {
  Nanos instant = 0; // t
  /// Sum of (floor((t - d) / T) + 1) C over tasks with d <= t. If jobs are loaded: with e instead of C, and a tail
  Wide demand = 0;
  /// Largest C of a task with d > t, best-effort tasks included. If jobs are loaded: of the executing and the staged
  /// job
  Nanos blocking = 0;
  Wide above = 0;                     // work of more urgent classes; if h(t) > t, only the known part of it
  std::optional<std::size_t> blocker; // the task that blocks; absent: a best-effort task, any that executes, or none
  [[nodiscard]] Nanos slack() const;  // t - h(t), at least -unbounded
};

struct DemandAnalysis {
  /// False: overloaded, or the utilisation is too close to 1 to examine every instant
  bool settled = false;
  Demand tightest;         // the instant at which t - h(t) is smallest
  bool busy_known = false; // the longest busy period was found, and bounds h(t)
  /// By task: the smallest t - h(t) over t >= d; its jobs end that much before their deadline
  std::vector<Nanos> slack;
  [[nodiscard]] bool proved() const { return settled && tightest.slack() >= 0; }
};

[[nodiscard]] Demand demand_at(std::span<const DemandTask> tasks, const Surroundings& others, Nanos instant);

/// Returns a bound on the time that a real-time job is ever pending without a break; `unbounded` if none is found soon.
[[nodiscard]] Nanos busy_period(std::span<const DemandTask> tasks, const Surroundings& others);

/// True if h(t) never falls as t grows or a deadline gets shorter: no job blocks for longer than it demands once it is
/// due.
[[nodiscard]] inline bool blocks_no_longer_than_it_demands(const DemandTask& task) {
  return task.blocking.value_or(task.cost) <= task.cost;
}

/// Examines every t, walking down as in QPA (Zhang, Burns: Schedulability analysis for real-time systems with EDF
/// scheduling, 2009), but for the smallest slack instead of its sign. h(t) is at most the longest busy period. If no
/// slack is less than `enough`, the returned slacks may be larger than the smallest one.
[[nodiscard]] DemandAnalysis analyse_demand(std::span<const DemandTask> tasks, const Surroundings& others,
                                            Nanos enough = unbounded);

} // namespace rtexec::policies
