// Which thread of a run executes where and how: cores, FIFO priorities or SCHED_DEADLINE reservations, and what of it
// the machine gives.
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

/// FIFO, of the compute engine.
inline constexpr int engine_priority = 97;

struct Placement {
  std::unique_ptr<hal::CpusetPartition> partition; // with SCHED_DEADLINE: keeps each core's reservations to itself
  hal::ThreadSettings scheduler, compute, copy_in, copy_out;
  std::optional<hal::ThreadSettings> beside;            // where jobs execute beside each other
  std::vector<hal::ThreadSettings> release, completion; // by task
  std::vector<Need> needs;
};

/// Settings for the class that `plan` was made for: reservations as planned, or FIFO priorities. Where the machine
/// refuses that class, or lacks a core: what is left, and the need is refused.
[[nodiscard]] Placement place_threads(const ResolvedSet& set, const Plan& plan, const hal::Machine& machine);

/// Of all reservations: what a thread has used up of its own is its again after this time.
[[nodiscard]] Duration longest_window(const Placement& placement);

/// How much of an execution's time from its begin to its end may be other than execution (DeviceDriver::Options). On a
/// host device, all that others take of the compute engine's core, unless this run shares it: its own work there is the
/// job's to pay. On any other, what admission charges beside the WCET for the way there and back.
[[nodiscard]] Duration max_not_executed(const Placement& placement, const Board& board);

/// Where real-time parts execute, and the threads that feed the device.
[[nodiscard]] std::set<unsigned> serving_cores(const Placement& placement, const std::vector<Task>& tasks);
/// Where the parts of jobs execute.
[[nodiscard]] std::set<unsigned> cores_of_jobs(const Placement& placement);
/// And those of the threads that serve them.
[[nodiscard]] std::set<unsigned> cores_of_threads(const Placement& placement);

[[nodiscard]] SchedulingClass scheduling_of(const hal::ThreadSettings& settings);

} // namespace rtexec::executive
