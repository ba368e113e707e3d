// Which thread of a run executes where and how: cores, FIFO priorities or SCHED_DEADLINE reservations, and what the
// machine could not give.
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/plan.hpp>
#include <rtexec/report.hpp>
#include <rtexec/task_set.hpp>
#include "hal/machine.hpp"
#include "hal/thread.hpp"

#include <memory>
#include <string>
#include <vector>

namespace rtexec::executive {

/// FIFO, of the compute engine.
inline constexpr int engine_priority = 97;

struct Placement {
  std::unique_ptr<hal::Partition> partition; // with SCHED_DEADLINE: keeps each core's reservations to itself
  hal::ThreadSettings scheduler, compute, copy_in, copy_out;
  std::vector<hal::ThreadSettings> release, completion; // by task
  std::vector<std::string> degraded;
};

/// What to plan for where the task set leaves it open: SCHED_FIFO, or SCHED_DEADLINE where only that is allowed. Tries
/// both.
[[nodiscard]] ThreadPolicy available_policy(ThreadPolicy asked);

/// Of the scheduler and the copy engines where the board names none: the first core, or where there are four or more,
/// the one beside the compute engine's, since the first serves most interrupts. `online` is ascending, and the compute
/// engine's core is the last.
[[nodiscard]] unsigned default_service_core(const std::vector<unsigned>& online);

/// Settings for the class that `plan` was made for: reservations as planned, or FIFO priorities. Where the machine
/// refuses that class, or lacks a core: refused, or with allow_degraded what is left, each lack named in `degraded`.
[[nodiscard]] Result<Placement> place_threads(const TaskSet& tasks, const Board& board, const Plan& plan,
                                              const hal::Machine& machine);

[[nodiscard]] SchedulingClass scheduling_of(const hal::ThreadSettings& settings);

} // namespace rtexec::executive
