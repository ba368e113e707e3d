// The way from a task set to a resolved one: the only place where a default depends on board or machine.
#pragma once

#include <rtexec/resolved_set.hpp>

namespace rtexec {

/// `tasks` on `board` of `machine`. Pure.
///
/// The thread class that is left open is SCHED_FIFO, or SCHED_DEADLINE where only that is allowed. The compute engine's
/// core is by default the last; that of the scheduler and the copy engines the first, or where there are four or more
/// the one beside the compute engine's, since the first serves most interrupts. Swap policies `min` and `mo-vmm` have
/// chunks of at most 2 MiB, the smallest that GPUs have. Chunks go to host memory, or to a file beside the task set's
/// where the device has no memory of its own.
[[nodiscard]] ResolvedSet resolve(TaskSet tasks, Board board, MachineFacts machine);

} // namespace rtexec
