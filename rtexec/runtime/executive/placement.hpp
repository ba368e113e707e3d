// The placement of a run's threads: the core of each thread, and its FIFO priority or SCHED_DEADLINE reservation, if
// the machine grants them.
#pragma once

#include <rtexec/resolved_set.hpp>
#include <rtexec/plan.hpp>
#include <rtexec/report.hpp>
#include "hal/machine_files.hpp"
#include "rtexec/runtime/executive/requirements.hpp"
#include "hal/thread.hpp"

#include <memory>
#include <optional>
#include <set>
#include <vector>

namespace rtexec::executive {

/// The FIFO priority of the compute engine.
inline constexpr int engine_priority = 97;

struct Placement {
  /// With SCHED_DEADLINE: cpusets that isolate the reservations of each core.
  std::unique_ptr<hal::CpusetPartition> partition;
  hal::ThreadSettings scheduler, compute, copy_in, copy_out;
  std::optional<hal::ThreadSettings> secondary_compute; // settings of the second compute engine; present if jobs co-run
  std::vector<hal::ThreadSettings> release, completion; // settings of the tasks' threads, by task
  std::vector<Requirement> needs;
};

/// Returns the settings of all threads in the scheduling class that `plan` was made for: planned reservations or FIFO
/// priorities. If the machine refuses that class, or lacks a core, returns the best remaining settings, and adds a
/// refused requirement to `needs`.
[[nodiscard]] Placement place_threads(const ResolvedSet& set, const Plan& plan, const hal::Machine& machine);

/// Returns the longest window (period) of all reservations. After this time every thread has its full budget again.
[[nodiscard]] Duration longest_window(const Placement& placement);

/// Returns DeviceDriver::Options::max_not_executed, the limit of the time that the driver subtracts from an execution
/// because the device reports it as not executed. On a host device there is no limit, so that the time of other
/// programs on the compute engine's core is never counted. But the limit is 0 if other threads of this run use that
/// core; the time of these threads then counts as the job's execution time. On any other device, the limit is the
/// overhead that admission adds to the WCET.
[[nodiscard]] Duration max_not_executed(const Placement& placement, const Board& board);

/// Returns the cores that execute parts of real-time jobs, or the threads that feed the device.
[[nodiscard]] std::set<unsigned> serving_cores(const Placement& placement, const std::vector<Task>& tasks);
/// Returns the cores that execute parts of any jobs.
[[nodiscard]] std::set<unsigned> cores_of_jobs(const Placement& placement);
/// Returns the cores of cores_of_jobs(), and the cores of the service threads (scheduler and engines).
[[nodiscard]] std::set<unsigned> cores_of_threads(const Placement& placement);

[[nodiscard]] SchedulingClass scheduling_of(const hal::ThreadSettings& settings);

} // namespace rtexec::executive
