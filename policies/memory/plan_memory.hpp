// Plans the device memory, in whole chunks: how much each task needs, how much of it fits, and the cost of swapping.
#pragma once

#include <rtexec/plan.hpp>
#include <rtexec/result.hpp>
#include <rtexec/resolved_set.hpp>

#include <cstdint>
#include <span>

namespace rtexec::policies {

/// Sets in `plan`: capacity, chunk, demand, outside, host, separate, shared_scratch and its chunks. Sets for each task:
/// memory, memory policy, pairs (co_run), period and arena. If the demand exceeds the capacity or a task has a stream,
/// it also sets `swap`, except for its frames; assign_volumes() sets these and the tasks' swap slots. Every task of the
/// set must have a wcet. Returns the overflow: the number of missing chunks, 0 if everything fits.
///
/// Under the swap policies serial, pipelined and none, the demand is the memory that each task keeps (constants or the
/// ring of its stream, state and fixed) + the largest scratch. One job executes at a time, so the scratch of all tasks
/// is in the same chunks. If two jobs may execute at once, the largest scratch of each counts. The other policies treat
/// all memory alike: all memory of all tasks counts. Under every policy, memory outside of chunks is added; it is not
/// swapped.
///
/// Returns bad_input if more capacity is wanted than the board has, or none is known; if the chunk has size 0, or there
/// are more chunks than can be counted; if the board lacks a memory policy; if a swap volume is too large; or if the
/// cost of swapping in chunks of this size is unknown. Returns not_proved if the demand exceeds the capacity and
/// swapping cannot help, or tasks co-run; then no plan can be made, and not even a forced run starts.
[[nodiscard]] Result<std::uint32_t> plan_memory(Plan& plan, const ResolvedSet& set,
                                                std::span<const MemoryDemand> memory);

/// Returns the costs of swapping with such a store, in the set's chunks. Returns bad_input if they are unknown, or out
/// of range.
[[nodiscard]] Result<SwapCost> swap_cost(const ResolvedSet& set, StoreKind store);

/// Returns the number of chunks that the capacity lacks; 0: everything fits.
[[nodiscard]] std::uint32_t overflow_of(const Plan& plan);

/// Sets how much memory of each task is on the device at the start (`resident`). The tasks must have their swap slots,
/// and the plan its frames. Returns bad_input if a size is not in whole chunks, exceeds the task's swap volume, or if
/// all sizes together exceed the frames.
[[nodiscard]] Result<> assign_residents(Plan& plan, const TaskSet& tasks);

/// The memory of one task: its own, and the memory that all tasks use in turn, so that only the largest counts.
struct WholeChunks {
  Bytes kept{0};
  Bytes shared{0};
};
/// Returns the memory as plan_memory() counts it, without memory outside of chunks. `chunk` must not be 0.
[[nodiscard]] WholeChunks whole_chunks(const MemoryDemand& memory, Bytes chunk, SwapPolicy policy);

/// Returns the swap volume of all tasks, which the store has to hold.
[[nodiscard]] Bytes swap_volume(const Plan& plan);

} // namespace rtexec::policies
