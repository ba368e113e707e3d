// Windows on one core with preemptive static priorities. The *window* of a part is the longest time from the instant at
// which the part becomes ready to its end.
#pragma once

#include "policies/bounds/end_to_end.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace rtexec::policies {

/// The work whose window is computed: one CPU part, or both CPU parts of a job.
struct CorePart {
  Nanos work = 0;
  Nanos lines = 0; // memory lines that the work moves
  /// The number of windows over which the work is spread. Between windows, the job is not on the core
  unsigned windows = 1;
};

/// Returns how long a core with a bandwidth budget stalls in `windows` windows, if the core's tasks move `lines` memory
/// lines in them.
[[nodiscard]] inline Wide stalls(const RegulatedCore& core, Wide lines, unsigned windows) {
  const Wide periods = (lines + core.overshoot * windows) / core.budget;
  return Wide{core.once} * windows + std::min<Wide>(periods, unbounded) * core.stall;
}

/// Returns the window of a part of `task`: the longest time from the part becoming ready to its end. The window
/// contains the part's own work `own` and the work of the loads `higher` in that time. `from`: where the iteration
/// starts; it must not exceed the result.
[[nodiscard]] inline FixedPoint core_window(const StagedSet& set, const StagedTask& task, const CorePart& own,
                                            std::span<const Load> higher, Nanos from = 0) {
  const auto regulated = std::ranges::find(set.regulated, task.core, &RegulatedCore::core);
  return least_fixed_point(std::max(own.work, from), task.deadline, [&](Nanos window) {
    Wide work = own.work + jobs_in(task.looks, window) * task.looks.cost;
    for (const Load& load : higher) work += jobs_in(load, window) * load.cost;
    if (regulated == set.regulated.end()) return work;
    Wide lines = own.lines;
    for (const Load& load : higher) lines += jobs_in(load, window) * load.lines;
    return work + stalls(*regulated, lines, own.windows);
  });
}

/// Returns the two CPU parts of a task that does not use the device, combined into one part.
[[nodiscard]] inline CorePart both_parts(const StagedTask& task) {
  return {.work = task.before + task.after, .lines = task.lines_before + task.lines_after};
}
/// Returns the load of a task that does not use the device, on its core. Each job executes both CPU parts.
[[nodiscard]] inline Load load_of_both(const StagedSet& set, const StagedTask& task) {
  const CorePart both = both_parts(task);
  return {task.period, both.work, set.release_jitter, both.lines};
}

/// Returns the loads of the scheduler's decisions on a core. The load of the thread that regulates the core's bandwidth
/// is not included.
[[nodiscard]] inline std::vector<Load> service_on(const StagedSet& set, unsigned core) {
  std::vector<Load> loads;
  for (const CoreLoad& each : set.service)
    if (each.core == core) loads.push_back(each.load);
  return loads;
}

/// Returns the loads of service threads on a core, including the thread that regulates the core's bandwidth.
[[nodiscard]] inline std::vector<Load> threads_on(const StagedSet& set, unsigned core) {
  std::vector<Load> loads = service_on(set, core);
  for (const RegulatedCore& each : set.regulated)
    if (each.core == core) loads.push_back(each.tick);
  return loads;
}

/// Adds the loads of a task on its core to `loads`. `device_done`: the end of the task's device part, when its last
/// part becomes ready. If the machine stops before that, the last part becomes ready up to `platform_stall` later.
inline void add_loads(const StagedSet& set, const StagedTask& task, Nanos device_done, std::vector<Load>& loads) {
  if (task.looks.cost > 0) loads.push_back(task.looks);
  if (!task.uses_device()) return loads.push_back(load_of_both(set, task));
  loads.push_back({task.period, task.before, set.release_jitter, task.lines_before});
  loads.push_back({task.period, task.after, std::max(device_done, Nanos{0}) + set.platform_stall, task.lines_after});
}

/// Returns the loads that delay task number `task` on its core: more urgent tasks and service threads. The first `task`
/// entries of `bounds` belong to the more urgent tasks. Their member `device_done`, the end of the device part, must be
/// set.
[[nodiscard]] inline std::vector<Load> loads_above(const StagedSet& set, std::size_t task,
                                                   std::span<const StageBounds> bounds) {
  std::vector<Load> loads = threads_on(set, set.tasks[task].core);
  for (std::size_t j = 0; j < task; ++j)
    if (set.tasks[j].core == set.tasks[task].core) add_loads(set, set.tasks[j], bounds[j].device_done, loads);
  return loads;
}

/// Returns the bounds of a task that does not use the device. Its two CPU parts follow each other immediately, so one
/// window contains both.
[[nodiscard]] inline StageBounds bounds_off_device(const StagedSet& set, const StagedTask& task,
                                                   std::span<const Load> higher) {
  const FixedPoint first = core_window(set, task, {task.before, task.lines_before}, higher);
  const FixedPoint whole = core_window(set, task, both_parts(task), higher);
  const Nanos ready = set.release_jitter + first.value;
  const Nanos done = set.release_jitter + whole.value;
  return {.ready = ready, .device_done = ready, .last_window = done - ready, .done = done, .settled = whole.settled};
}

/// Returns the windows of the CPU parts of all tasks. `last_ready(task, bounds)` returns the time by which the last
/// part of a task that uses the device becomes ready; the result stores this time as `device_done`. If a window is not
/// settled, it is only a lower estimate.
[[nodiscard]] std::vector<StageBounds> windows_with(const StagedSet& set, const auto& last_ready) {
  std::vector<StageBounds> bounds(set.tasks.size());
  for (std::size_t i = 0; i < set.tasks.size(); ++i) {
    const StagedTask& task = set.tasks[i];
    const std::vector<Load> loads = loads_above(set, i, bounds);
    if (!task.uses_device()) {
      bounds[i] = bounds_off_device(set, task, loads);
      continue;
    }
    const FixedPoint first = core_window(set, task, {task.before, task.lines_before}, loads);
    const FixedPoint last = core_window(set, task, {task.after, task.lines_after}, loads);
    bounds[i].ready = set.release_jitter + first.value;
    bounds[i].last_window = last.value;
    bounds[i].settled = first.settled && last.settled;
    bounds[i].device_done = last_ready(task, bounds[i]);
  }
  return bounds;
}

} // namespace rtexec::policies
