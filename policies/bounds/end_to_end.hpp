// End-to-end analysis: each job has a part on a core, one on the device and one on the core again. Cores have static
// priorities, and the device is not preemptive. Formulas and proofs: proofs/static-priority.md, edf.md.
#pragma once

#include "policies/exact_arithmetic.hpp"
#include "policies/device/device_demand.hpp"
#include "policies/device/device_response.hpp"
#include "policies/device/overlap.hpp"
#include "policies/device/segmented_tests.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

namespace rtexec::policies {

/// One real-time task, whose parts include every charge.
struct StagedTask {
  Nanos period = 1;
  Nanos deadline = 0; // at most the period
  Nanos before = 0;   // on `core`
  /// Includes the time of swapping if that does not overlap executions. 0: the task does not use the device, and the
  /// last part follows the first one at once
  Nanos device = 0;
  Nanos after = 0; // on `core` again
  unsigned core = 0;
  Nanos load = 0;                  // of its chunks, while another job executes (overlap.hpp); 0: never
  Nanos lead = 0;                  // the beginning of `device`: until its end, jobs of higher priority go first
  std::optional<Nanos> blocking{}; // how long a job that began before delays more urgent jobs; absent: `device`
  Nanos lines_before = 0;          // lines of memory that the parts move on a regulated core
  Nanos lines_after = 0;
  /// How long after the windows of their reservations its parts may end, once the machine has stopped
  Nanos backlog = 0;
  bool alone = false; // no other thread reserves a part of its core
  Nanos delay = 0;    // the longest wait of a load during `device` (overlap.hpp)
  // If the set is preempted on the device (segmented_tests.hpp):
  unsigned device_class = 1;
  Nanos run = 0;     // the longest run of segments in `device`
  Nanos last = 0;    // the last segment of `device`
  Nanos restore = 0; // reload of the chunks whose frames its load has taken
  Load looks{};      // polls of its release thread on `core` for the next trigger; cost 0: it does not poll
  [[nodiscard]] bool uses_device() const { return device > 0; }
  [[nodiscard]] Nanos on_device() const { return load + device; } // if the task is alone there
  [[nodiscard]] Nanos blocks() const { return blocking.value_or(device); }
};

/// The load of a service thread, which is more urgent than all tasks on its core.
struct CoreLoad {
  unsigned core = 0;
  Load load;
};

/// A core with a memory bandwidth budget. It stalls when its budget is used up. In a window in which the counted parts
/// move mu lines, it stalls for at most once + stall * floor((mu + overshoot) / budget).
struct RegulatedCore {
  unsigned core = 0;
  Nanos budget = 1;   // lines per period
  Nanos stall = 0;    // tau
  Nanos once = 0;     // for what began before the window
  Wide overshoot = 0; // lines that were moved before the window and reduce the budgets in it
  Load tick;          // the regulating thread
};

struct StagedSet {
  /// The most urgent task first: these are the priorities on cores and, under static priority, on the device
  std::vector<StagedTask> tasks;
  Nanos release_jitter = 0;   // of the first part, including twice `hold_up`
  Nanos background = 0;       // the longest device part of best-effort tasks, or other work that blocks once
  Nanos background_load = 0;  // the longest load of best-effort tasks
  Nanos background_delay = 0; // the longest wait of a load during a best-effort job
  bool preempts = false;      // jobs are preempted on the device at the ends of their segments; then:
  Nanos background_run = 0;   // the longest run of segments of best-effort jobs
  Nanos flight = 0;           // of chunk transfers in flight
  Nanos device_delay = 0;     // the longest pause of the device, once in a window
  Nanos hold_up = 0;          // the longest stop of the machine, once in the span of a job (proofs/hold-ups.md)
  std::vector<CoreLoad> service{};
  std::vector<RegulatedCore> regulated{};
  /// True if one of the `first` most urgent tasks is loaded.
  [[nodiscard]] bool loads(std::size_t first) const {
    return std::ranges::any_of(std::span(tasks).first(first), [](const StagedTask& task) { return task.load > 0; });
  }
  [[nodiscard]] DevicePart best_effort() const { return {background, background_load, background_delay}; }
  [[nodiscard]] Surroundings beside_tasks() const { return {.background = best_effort()}; }
  /// Returns the device parts of a preempted set with their classes. `parts` are the parts of its tasks on the device.
  [[nodiscard]] SegmentedSet in_classes(std::span<const DemandTask> parts) const;
  /// Returns the least time of `task` on the device, whatever other tasks do.
  [[nodiscard]] Nanos device_time(const StagedTask& task) const {
    return task.uses_device() ? task.on_device() + device_delay : 0;
  }
  /// Returns the charges of all tasks if jobs are loaded; tasks that do not use the device get none. Empty: none is
  /// loaded.
  [[nodiscard]] std::vector<Overlap> overlapped() const {
    if (!loads(tasks.size())) return {};
    std::vector<DevicePart> parts;
    for (const StagedTask& task : tasks)
      if (task.uses_device()) parts.push_back({task.device, task.load, task.delay});
    std::vector<Overlap> list = overlaps(std::move(parts), best_effort());
    for (Overlap& overlap : list)
      for (std::size_t i = 0; i < tasks.size(); ++i)
        if (!tasks[i].uses_device())
          overlap.tasks.insert(overlap.tasks.begin() + static_cast<std::ptrdiff_t>(i), Overlap::Charge{});
    return list;
  }
};

/// The latest ends of the parts of one task, after the nominal release.
struct StageBounds {
  Nanos ready = 0;       // first part
  Nanos device_done = 0; // device part
  Nanos last_window = 0; // the last part, from when it becomes ready
  Nanos done = 0;
  bool settled = false; // false: at least one of these values is only a lower estimate
};

/// Returns the response times of each task's CPU parts alone, as if the device took no time: the least that its core
/// needs. In the set's order. A response above the deadline is not settled.
[[nodiscard]] std::vector<FixedPoint> core_responses(const StagedSet& set);

/// Returns the bounds for a static-priority device. Stops after the first task whose bound exceeds its deadline: the
/// bounds of the tasks below it rely on that deadline.
[[nodiscard]] std::vector<StageBounds> static_priority_bounds(const StagedSet& set);

/// Returns the bounds of task `i` alone, if the tasks above it keep their deadlines; a lower estimate if it misses its
/// own. `above`: the known bounds of the first tasks; the function adds those that it needs.
[[nodiscard]] StageBounds static_priority_bound(const StagedSet& set, std::size_t i, std::vector<StageBounds>& above);

struct EdfBounds {
  /// For all tasks; `ready` and `device_done` are the stage deadlines of the split
  std::vector<StageBounds> tasks;
  std::vector<std::size_t> on_device; // the tasks that use the device
  std::vector<DemandTask> device;     // their parts there with their deadlines
  DemandAnalysis demand;              // the demand of these parts, by position in `device`
  [[nodiscard]] bool proved() const { return demand.proved() && std::ranges::all_of(tasks, &StageBounds::settled); }
};

/// Completes the bounds of a given split for an EDF device: `split` has `ready`, `device_done` and `last_window` of
/// each task. Tasks that do not use the device already have all their bounds.
[[nodiscard]] EdfBounds edf_device(const StagedSet& set, std::vector<StageBounds> split);

/// Returns the response of task `i` alone on a static-priority device, with the set's overlaps. Task `i` requests the
/// device by `ready`, the tasks above it as `above` says.
[[nodiscard]] DeviceResponse static_priority_device(const StagedSet& set, std::span<const Overlap> overlaps,
                                                    std::size_t i, std::span<const StageBounds> above, Nanos ready);

/// How long to search for bounds that prove a set. `quick` takes the first guess. `verdict` continues only while the
/// set may be proved. `full` also searches for the numbers that come closest.
enum class Effort { quick, verdict, full };

/// Searches for a split of each deadline under which cores and an EDF device keep it.
[[nodiscard]] EdfBounds edf_bounds(const StagedSet& set, Effort effort = Effort::full);

} // namespace rtexec::policies
