// End-to-end analysis: each job has a first part on a core, a device part, and a last part on the core again. Cores
// have static priorities, and the device is not preemptive. A *charge* is an overhead that the analysis adds to an
// execution time (charges.hpp). The *window* of a CPU part is the longest time from the part becoming ready to its end.
// A *split* divides a deadline into a deadline for each part. Formulas and proofs: proofs/static-priority.md, edf.md.
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

/// One real-time task. The lengths of its parts include every charge.
struct StagedTask {
  Nanos period = 1;
  Nanos deadline = 0; // at most the period
  Nanos before = 0;   // the charged length of the first part, on `core`
  /// The charged time on the device. It includes the time to move chunks, unless chunks are loaded while other jobs
  /// execute. 0: the task does not use the device, and its last part follows the first part immediately
  Nanos device = 0;
  Nanos after = 0; // the charged length of the last part, on `core`
  unsigned core = 0;
  Nanos load = 0; // the time to load the task's chunks while another job executes (overlap.hpp); 0: no such load
  /// The length of a swap-out at the beginning of `device`, during which more urgent jobs may still be chosen first
  Nanos lead = 0;
  /// The longest time by which a started job of this task delays more urgent jobs; absent: `device`
  std::optional<Nanos> blocking{};
  Nanos lines_before = 0; // memory lines that the first part moves on a core with a bandwidth budget
  Nanos lines_after = 0;  // memory lines that the last part moves on a core with a bandwidth budget
  /// For SCHED_DEADLINE: the longest time by which a platform stall (a stop of the whole machine) may delay the end of
  /// a CPU part beyond the window of its reservation
  Nanos backlog = 0;
  bool alone = false; // true if no other thread has a reservation on its core
  Nanos delay = 0;    // the longest time by which a load that runs during `device` is delayed (overlap.hpp)
  // The next members apply only to sets whose jobs are preempted on the device (segmented_tests.hpp): device_class,
  // run, last, restore.
  unsigned device_class = 1;
  Nanos run = 0;  // the longest sequence of segments between two points at which other jobs can take the device
  Nanos last = 0; // the length of the last segment of `device`
  /// The time to reload the chunks that a load of this task evicts. To free frames (physical chunks) for a load, chunks
  /// of one class may be evicted
  Nanos restore = 0;
  Load looks{}; // the release thread's polls on `core` for the next trigger; cost 0: the thread does not poll
  [[nodiscard]] bool uses_device() const { return device > 0; }
  [[nodiscard]] Nanos on_device() const { return load + device; } // the least time on the device, with its load
  [[nodiscard]] Nanos blocks() const { return blocking.value_or(device); }
};

/// The load of a service thread, which is more urgent than all tasks on its core.
struct CoreLoad {
  unsigned core = 0;
  Load load;
};

/// A core with a memory bandwidth budget. The core stalls when its budget is used up. Let mu be the number of lines
/// that the core's parts move in a window. The longest stall in the window is `once` + `stall` * floor((mu +
/// `overshoot`) / `budget`) (proofs/regulated-cores.md).
struct RegulatedCore {
  unsigned core = 0;
  Nanos budget = 1;   // memory lines per period
  Nanos stall = 0;    // the longest stall for one exhausted budget
  Nanos once = 0;     // the stall at the beginning of a window that is caused by work before the window
  Wide overshoot = 0; // memory lines that were moved before a window and reduce the budgets in it
  Load tick;          // the load of the thread that regulates this core's bandwidth
};

struct StagedSet {
  /// The tasks, the most urgent first. The order is that of priorities on cores and, under static priority, on the
  /// device
  std::vector<StagedTask> tasks;
  Nanos release_jitter = 0; // of first parts, including twice `platform_stall`
  /// The longest device part of best-effort tasks, or other blocking that counts once in each examined interval
  Nanos background = 0;
  Nanos background_load = 0;  // the longest load of best-effort tasks
  Nanos background_delay = 0; // the longest time by which a concurrent best-effort job delays a load
  /// True if jobs are preempted on the device at ends of segments. Only then `background_run` and `flight` count
  bool preempts = false;
  Nanos background_run = 0; // the longest run (see StagedTask::run) of best-effort jobs
  Nanos flight = 0;         // the longest time until chunk transfers in flight have ended
  Nanos device_delay = 0;   // the longest pause of the compute engine; counts once in each examined interval
  Nanos platform_stall = 0; // the longest stop of the machine, at most once in a job's life (proofs/platform-stalls.md)
  std::vector<CoreLoad> service{};
  std::vector<RegulatedCore> regulated{};
  /// True if one of the `first` most urgent tasks loads chunks while other jobs execute.
  [[nodiscard]] bool loads(std::size_t first) const {
    return std::ranges::any_of(std::span(tasks).first(first), [](const StagedTask& task) { return task.load > 0; });
  }
  [[nodiscard]] DevicePart best_effort() const { return {background, background_load, background_delay}; }
  [[nodiscard]] Surroundings best_effort_load() const { return {.background = best_effort()}; }
  /// Returns the device parts and the classes of the tasks that use the device, for tests of sets whose jobs are
  /// preempted (segmented_tests.hpp). `parts`: the device parts of these tasks, in the order of `tasks`.
  [[nodiscard]] SegmentedSet in_classes(std::span<const DemandTask> parts) const;
  /// Returns the time that `task` needs on the device even if no other task uses it.
  [[nodiscard]] Nanos device_time(const StagedTask& task) const {
    return task.uses_device() ? task.on_device() + device_delay : 0;
  }
  /// Returns the charge models of jobs whose chunks are loaded while other jobs execute: one list entry for each value
  /// of lambda, the time in which an execution and a load overlap (overlap.hpp). An entry has the charges of all tasks.
  /// Tasks that do not use the device get empty charges. Returns an empty list if no task has such a load.
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

/// Bounds on the ends of the parts of one task, counted from the nominal release.
struct StageBounds {
  Nanos ready = 0;       // end of the first part
  Nanos device_done = 0; // end of the device part
  Nanos last_window = 0; // longest time from the last part becoming ready to its end
  Nanos done = 0;        // end of the job
  bool settled = false;  // false: at least one of these values is only a lower estimate
};

/// Returns the response times of the CPU parts of each task, as if device parts took no time: lower bounds on the time
/// that the core needs. The result is in the set's order. If a response exceeds the deadline, the iteration stops
/// before its fixed point. FixedPoint::settled is then false, and the value is only a lower estimate.
[[nodiscard]] std::vector<FixedPoint> core_responses(const StagedSet& set);

/// Returns the bounds for a static-priority device. Stops after the first task whose bound exceeds its deadline, since
/// the bounds of less urgent tasks assume that this deadline is kept.
[[nodiscard]] std::vector<StageBounds> static_priority_bounds(const StagedSet& set);

/// Returns the bounds of task `i` only. The more urgent tasks must keep their deadlines. If task `i` misses its own
/// deadline, the result is only a lower estimate. `above`: the bounds of the first (most urgent) tasks, as far as they
/// are known. The function appends the missing bounds of the tasks before `i`.
[[nodiscard]] StageBounds static_priority_bound(const StagedSet& set, std::size_t i, std::vector<StageBounds>& above);

struct EdfBounds {
  /// The bounds of all tasks. `ready` and `device_done` split each deadline: the first part must end by `ready`, the
  /// device part by `device_done`
  std::vector<StageBounds> tasks;
  std::vector<std::size_t> on_device; // indices of the tasks that use the device
  std::vector<DemandTask> device;     // the device parts of these tasks, with the deadlines of the split
  DemandAnalysis demand;              // the demand of these parts; `slack` has the order of `device`
  [[nodiscard]] bool proved() const { return demand.proved() && std::ranges::all_of(tasks, &StageBounds::settled); }
};

/// Returns the bounds on an EDF device for a given split of deadlines. `split` must hold `ready`, `device_done` and
/// `last_window` of each task, and all bounds of tasks that do not use the device.
[[nodiscard]] EdfBounds edf_device(const StagedSet& set, std::vector<StageBounds> split);

/// Returns the device response of task `i` on a static-priority device: the bound on the end of its device part.
/// `overlaps`: the result of overlapped(). Task `i` requests the device by `ready`. Each more urgent task requests it
/// by the `ready` of its entry in `above`.
[[nodiscard]] DeviceResponse static_priority_device(const StagedSet& set, std::span<const Overlap> overlaps,
                                                    std::size_t i, std::span<const StageBounds> above, Nanos ready);

/// The effort of edf_bounds(), and of the searches that call edf_bounds(). `quick` takes the first candidate. `verdict`
/// searches only while the set may still be proved. `full` also improves the bounds of a set that cannot be proved.
enum class Effort { quick, verdict, full };

/// Searches for a split of each deadline into deadlines of the stages (first part, device part, last part), so that the
/// cores and an EDF device keep the deadlines of all stages.
[[nodiscard]] EdfBounds edf_bounds(const StagedSet& set, Effort effort = Effort::full);

} // namespace rtexec::policies
