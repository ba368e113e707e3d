// Turns a task set into a resolved one: the only place where a default depends on board or machine.
#pragma once

#include <rtexec/resolved_set.hpp>

namespace rtexec {

/// Returns `tasks` resolved for `board` of `machine`. Pure.
///
/// A thread class that is left open becomes SCHED_FIFO, or SCHED_DEADLINE if only that is allowed. The compute engine's
/// core is by default the last one. The scheduler and the copy engines get the first one; with four or more cores, the
/// one beside the compute engine's, since the first serves most interrupts. Swap policies `min` and `mo-vmm` have
/// chunks of at most 2 MiB, the smallest that GPUs have. Chunks go to host memory, or to a file beside the task set's
/// if the device has no memory of its own.
[[nodiscard]] ResolvedSet resolve(TaskSet tasks, Board board, MachineFacts machine);

} // namespace rtexec
