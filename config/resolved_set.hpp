// A task set with all that it leaves to its board and machine settled, in one place: planning, placing and running ask
// nobody again.
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/machine.hpp>
#include <rtexec/task_set.hpp>

#include <vector>

namespace rtexec {

struct ResolvedSet {
  TaskSet tasks; // executive.threads is fifo or deadline
  Board board;   // compute_core, service_core and cores are there
  MachineFacts machine;
  [[nodiscard]] unsigned compute_core() const { return *board.compute_core; }
  [[nodiscard]] unsigned service_core() const { return *board.service_core; }
};

/// `tasks` on `board` of `machine`. The thread class that is left open is SCHED_FIFO, or SCHED_DEADLINE where only that
/// is allowed. The compute engine's core is by default the last; that of the scheduler and the copy engines the first,
/// or where there are four or more the one beside the compute engine's, since the first serves most interrupts.
[[nodiscard]] ResolvedSet resolve(TaskSet tasks, Board board, MachineFacts machine);

} // namespace rtexec
