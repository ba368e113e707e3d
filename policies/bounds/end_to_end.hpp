// End to end: jobs with a part on a core, one on the device and one on the core again, on static-priority cores and a
// non-preemptive device. Formulas and proofs: proofs/static-priority.md, edf.md.
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

/// One real-time task with every charge inside its parts.
struct StagedTask {
  Nanos period = 1;
  Nanos deadline = 0; // at most the period
  Nanos before = 0;   // on `core`
  /// With its swapping, where that is done one after the other. 0: the device is not used, and the last part follows
  /// the first one at once
  Nanos device = 0;
  Nanos after = 0; // on `core` again
  unsigned core = 0;
  Nanos load = 0;                  // of its chunks, beside the execution of another job (overlap.hpp); 0: never
  Nanos lead = 0;                  // of `device`, until whose end jobs of higher priority go first
  std::optional<Nanos> blocking{}; // of more urgent jobs, by one that began before; absent: `device`
  Nanos lines_before = 0;          // of memory, that the parts move on a regulated core
  Nanos lines_after = 0;
  Nanos backlog = 0;  // its parts may end so much after the windows of their reservations, once the machine has stopped
  bool alone = false; // nobody else reserves a part of its core
  Nanos delay = 0;    // of loads beside `device` (overlap.hpp)
  // Where the set is preempted on the device (segmented_tests.hpp):
  unsigned device_class = 1;
  Nanos run = 0;     // of `device`
  Nanos last = 0;    // of `device`
  Nanos restore = 0; // of what its load has taken the frames of
  Load looks{};      // of its release thread on `core`, for what releases the next job; cost 0: it does not look
  [[nodiscard]] bool uses_device() const { return device > 0; }
  [[nodiscard]] Nanos on_device() const { return load + device; } // when it is alone
  [[nodiscard]] Nanos blocks() const { return blocking.value_or(device); }
};

/// Of a service thread that is more urgent than all tasks on its core.
struct CoreLoad {
  unsigned core = 0;
  Load load;
};

/// A core with a memory bandwidth budget. It stands still where its budget is used up: in a window in which the counted
/// parts move mu lines for at most once + stall * floor((mu + overshoot) / budget).
struct RegulatedCore {
  unsigned core = 0;
  Nanos budget = 1;   // lines in a period
  Nanos stall = 0;    // tau
  Nanos once = 0;     // what began before the window
  Wide overshoot = 0; // lines that were moved before the window and are taken off the budgets in it
  Load tick;          // the regulating thread
};

struct StagedSet {
  /// The most urgent first: the priorities on cores and, under static priority, on the device
  std::vector<StagedTask> tasks;
  Nanos release_jitter = 0;   // of the first part, with twice `hold_up`
  Nanos background = 0;       // longest device part of best-effort tasks, or whatever else blocks once
  Nanos background_load = 0;  // longest load of best-effort tasks
  Nanos background_delay = 0; // of loads beside best-effort jobs
  bool preempts = false;      // jobs on the device, at the ends of their segments; then:
  Nanos background_run = 0;   // of segments of best-effort jobs
  Nanos flight = 0;           // of chunks
  Nanos device_delay = 0;     // the device may stand still for so long, once in a window
  Nanos hold_up = 0;          // the machine may stop for so long, once in the span of a job (proofs/hold-ups.md)
  std::vector<CoreLoad> service{};
  std::vector<RegulatedCore> regulated{};
  /// Whether one of the `first` most urgent tasks is loaded.
  [[nodiscard]] bool loads(std::size_t first) const {
    return std::ranges::any_of(std::span(tasks).first(first), [](const StagedTask& task) { return task.load > 0; });
  }
  [[nodiscard]] DevicePart best_effort() const { return {background, background_load, background_delay}; }
  [[nodiscard]] Surroundings beside_tasks() const { return {.background = best_effort()}; }
  /// Where the set is preempted: its tasks on the device, whose parts there are `parts`.
  [[nodiscard]] SegmentedSet in_classes(std::span<const DemandTask> parts) const;
  /// What the device takes of the time of `task` at least, whatever others do.
  [[nodiscard]] Nanos device_time(const StagedTask& task) const {
    return task.uses_device() ? task.on_device() + device_delay : 0;
  }
  /// The charges of all tasks where jobs are loaded, none to those that do not use the device; empty: none is.
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

/// Where the parts of one task end at the latest, after the nominal release.
struct StageBounds {
  Nanos ready = 0;       // first part
  Nanos device_done = 0; // device part
  Nanos last_window = 0; // last part, after it became ready
  Nanos done = 0;
  bool settled = false; // false: at least one of these is only a lower estimate
};

/// Response times of each task's CPU parts alone, as if the device took no time: what its core needs at least. In the
/// set's order; not settled above the deadline.
[[nodiscard]] std::vector<FixedPoint> core_responses(const StagedSet& set);

/// Static-priority device. Stops after the first task whose bound exceeds its deadline: the ones below it rest on that
/// deadline.
[[nodiscard]] std::vector<StageBounds> static_priority_bounds(const StagedSet& set);

/// Of task `i` alone, if the tasks above it keep their deadlines; a lower estimate where it does not keep its own.
/// `above`: the bounds of the first so many tasks, as far as they are known; more are added where they are needed.
[[nodiscard]] StageBounds static_priority_bound(const StagedSet& set, std::size_t i, std::vector<StageBounds>& above);

struct EdfBounds {
  /// Of all tasks; `ready` and `device_done` are the stage deadlines of the split
  std::vector<StageBounds> tasks;
  std::vector<std::size_t> on_device; // those of them that use the device,
  std::vector<DemandTask> device;     // their parts there with their deadlines,
  DemandAnalysis demand;              // and what that asks of it, by place in `device`
  [[nodiscard]] bool proved() const { return demand.proved() && std::ranges::all_of(tasks, &StageBounds::settled); }
};

/// EDF device, for a split that is given: `ready`, `device_done` and `last_window` of each task; fills in the rest.
/// What does not use the device is given with all its bounds.
[[nodiscard]] EdfBounds edf_device(const StagedSet& set, std::vector<StageBounds> split);

/// Static-priority device, for task `i` alone, with the set's overlaps: it requests by `ready`, the tasks above as
/// `above` says.
[[nodiscard]] DeviceResponse static_priority_device(const StagedSet& set, std::span<const Overlap> overlaps,
                                                    std::size_t i, std::span<const StageBounds> above, Nanos ready);

/// How long to look for what proves a set: `quick` takes the first guess, `verdict` looks on only while the set may be
/// proved, and `full` also for the numbers that come closest.
enum class Effort { quick, verdict, full };

/// EDF device: searches a split of each deadline under which cores and device keep it.
[[nodiscard]] EdfBounds edf_bounds(const StagedSet& set, Effort effort = Effort::full);

} // namespace rtexec::policies
