// Resolves a task set: sets the values that it leaves open. Only here do defaults depend on the board or the machine.
#pragma once

#include <rtexec/resolved_set.hpp>

namespace rtexec {

/// Returns `tasks` resolved for `board` of `machine`. Pure.
///
/// A thread class that is left open becomes SCHED_FIFO, or SCHED_DEADLINE if only that is allowed. By default, the
/// compute engine gets the last core. The scheduler and the copy engines get the first core. If there are four or more,
/// they get the core next to the compute engine's, since the first core serves most interrupts. The swap policies `min`
/// and `mo-vmm` use chunks of at most 2 MiB, the smallest size that GPUs have. Chunks are swapped to host memory. If
/// the device has no memory of its own, they are swapped to a file in the task set's folder.
[[nodiscard]] ResolvedSet resolve(TaskSet tasks, Board board, MachineFacts machine);

} // namespace rtexec
