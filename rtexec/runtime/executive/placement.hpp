// The placement of a run's threads: cores, and FIFO priorities or SCHED_DEADLINE reservations, as far as the machine
// permits them.
#pragma once

#include <rtexec/resolved_set.hpp>
#include <rtexec/plan.hpp>
#include <rtexec/report.hpp>
#include "hal/machine_files.hpp"
#include "rtexec/runtime/executive/needs.hpp"
#include "hal/thread.hpp"

#include <memory>
#include <optional>
#include <set>
#include <vector>

namespace rtexec::executive {

/// The FIFO priority of the compute engine.
inline constexpr int engine_priority = 97;

struct Placement {
  std::unique_ptr<hal::CpusetPartition> partition; // with SCHED_DEADLINE: isolates the reservations of each core
  hal::ThreadSettings scheduler, compute, copy_in, copy_out;
  std::optional<hal::ThreadSettings> beside;            // present if jobs co-run
  std::vector<hal::ThreadSettings> release, completion; // by task
  std::vector<Need> needs;
};

/// Returns the settings for the class that `plan` was made for: planned reservations or FIFO priorities. If the machine
/// refuses that class, or lacks a core, returns the best remaining settings, with a refused need.
[[nodiscard]] Placement place_threads(const ResolvedSet& set, const Plan& plan, const hal::Machine& machine);

/// Returns the longest window of all reservations. After this time a thread has its full budget again.
[[nodiscard]] Duration longest_window(const Placement& placement);

/// Returns the maximum time between begin and end of an execution that may not count as execution
/// (DeviceDriver::Options). On a host device it is all time that others take of the compute engine's core. If this run
/// shares that core, its own work there counts as the job's. On any other device it is the overhead that admission
/// charges in addition to the WCET.
[[nodiscard]] Duration max_not_executed(const Placement& placement, const Board& board);

/// Returns the cores of real-time parts, and of the threads that feed the device.
[[nodiscard]] std::set<unsigned> serving_cores(const Placement& placement, const std::vector<Task>& tasks);
/// Returns the cores on which the parts of jobs execute.
[[nodiscard]] std::set<unsigned> cores_of_jobs(const Placement& placement);
/// Returns the cores of cores_of_jobs() and of the threads that serve them.
[[nodiscard]] std::set<unsigned> cores_of_threads(const Placement& placement);

[[nodiscard]] SchedulingClass scheduling_of(const hal::ThreadSettings& settings);

} // namespace rtexec::executive
