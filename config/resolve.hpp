// Resolves a task set: gives a value to each key that the task set does not specify. No other code makes defaults
// depend on the board or the machine.
#pragma once

#include <rtexec/resolved_set.hpp>

namespace rtexec {

/// Returns `tasks` resolved for `board` of `machine`. Pure.
///
/// If the task set does not specify the scheduling class of threads, SCHED_FIFO is chosen, or SCHED_DEADLINE if only
/// SCHED_DEADLINE is allowed. By default, the compute engine gets the last core. The scheduler and the copy engines get
/// the first core. On a machine with four or more cores, they get the core next to the compute engine's core instead,
/// because the first core serves most interrupts.
///
/// The swap policies `min` and `mo-vmm` use chunks of at most 2 MiB, the minimum chunk size of GPUs. Chunks are swapped
/// to host memory. If the device has no memory of its own, chunks are swapped to a file in the task set's folder.
[[nodiscard]] ResolvedSet resolve(TaskSet tasks, Board board, MachineFacts machine);

} // namespace rtexec
