// Plans the device memory in whole chunks: how much memory each task needs, how much of it fits, and the cost of
// swapping. A *frame* is a physical chunk on the device. The *swap volume* of a task is the number of its chunks that
// are swapped. A task's *stream* loads its constants during executions, through a *ring* of frames.
#pragma once

#include <rtexec/plan.hpp>
#include <rtexec/result.hpp>
#include <rtexec/resolved_set.hpp>

#include <cstdint>
#include <span>

namespace rtexec::policies {

/// Plans the memory, and returns the overflow: the number of chunks that do not fit, or 0 if everything fits. Every
/// task of the set must have a wcet.
///
/// Sets in `plan`: capacity, chunk, demand, outside, host, separate, shared_scratch and its chunks. Sets for each task:
/// memory, memory policy, pairs (co_run), period and arena (the number of chunks of each memory class). If the demand
/// exceeds the capacity or a task has a stream, it also sets `swap`, except for its frames. assign_volumes() sets the
/// frames and the tasks' swap slots.
///
/// Under the swap policies serial, pipelined and none, the demand is the memory that each task keeps, plus the largest
/// scratch. A task keeps constants (or the ring of its stream), state and fixed memory. One job executes at a time, so
/// all tasks use the same chunks for scratch. If two jobs may execute at once, the largest scratch of either job
/// counts. The other policies do not distinguish classes of memory: all memory of all tasks counts. Under every policy,
/// memory outside of chunks is added. Memory outside of chunks is not swapped.
///
/// Returns bad_input in these cases:
/// - The set requests more capacity than the board has, or no capacity is known.
/// - The chunk has size 0, or there are more chunks than can be counted.
/// - The board lacks a memory policy.
/// - A swap volume is too large, or the cost of swapping in chunks of this size is unknown.
///
/// Returns not_proved if the demand exceeds the capacity and either swapping cannot help or tasks co-run. Then no plan
/// can be made, and not even a forced run starts.
[[nodiscard]] Result<std::uint32_t> plan_memory(Plan& plan, const ResolvedSet& set,
                                                std::span<const MemoryDemand> memory);

/// Returns the costs of swapping with a store of kind `store`, in the set's chunks. Returns bad_input if the costs are
/// unknown or out of range.
[[nodiscard]] Result<SwapCost> swap_cost(const ResolvedSet& set, StoreKind store);

/// Returns the number of chunks by which the demand exceeds the capacity; 0: everything fits.
[[nodiscard]] std::uint32_t overflow_of(const Plan& plan);

/// Sets how much memory of each task is on the device at the start (`resident`). The swap slots of the tasks and the
/// frames of the plan must be set. Returns bad_input if a size is not in whole chunks or exceeds the task's swap
/// volume, or if the sum of all sizes exceeds the frames.
[[nodiscard]] Result<> assign_residents(Plan& plan, const TaskSet& tasks);

/// The memory of one task in two parts: memory that it keeps, and shared memory (scratch) that all tasks use in turn.
/// Only the largest shared memory of all tasks counts.
struct WholeChunks {
  Bytes kept{0};
  Bytes shared{0};
};
/// Returns the memory of a task as plan_memory() counts it, without memory outside of chunks. `chunk` must not be 0.
[[nodiscard]] WholeChunks whole_chunks(const MemoryDemand& memory, Bytes chunk, SwapPolicy policy);

/// Returns the sum of the swap volumes of all tasks, which the backing store must hold.
[[nodiscard]] Bytes swap_volume(const Plan& plan);

} // namespace rtexec::policies
