// Device memory of a plan, in whole chunks: what each task needs, what of it there is room for, and what swapping
// costs.
#pragma once

#include <rtexec/plan.hpp>
#include <rtexec/result.hpp>
#include <rtexec/resolved_set.hpp>

#include <cstdint>
#include <span>

namespace rtexec::policies {

/// Fills in capacity, chunk, demand, outside, host, separate, shared_scratch and its chunks, each task's memory, memory
/// policy, pairs (co_run), period and arena, and where the demand exceeds the capacity or a task has a stream `swap`,
/// but for its frames: these, and the tasks' swap slots, are assign_volumes()'s. Returns the overflow, the chunks that
/// are missing: 0 where everything fits. Every task of the set must have a wcet.
///
/// demand, pipelined and none: what tasks keep (constants or the ring of their stream, state and fixed) + the largest
/// scratch, since one job executes at a time and all scratch is the same chunks; where two may execute at once, the
/// largest of each. The other policies do not tell classes apart: all memory of all tasks. Everywhere + what lies
/// outside of chunks, which is not swapped.
///
/// bad_input: more capacity than the board has, none that is known, a chunk of no size, more chunks than can be
/// counted, a memory policy that the board lacks, a swap volume that is too large, no cost of swapping in chunks of
/// this size. not_proved: the demand exceeds the capacity and swapping cannot help, or jobs execute beside each other;
/// no plan can be made then, so that not even a forced run starts.
[[nodiscard]] Result<std::uint32_t> plan_memory(Plan& plan, const ResolvedSet& set,
                                                std::span<const MemoryDemand> memory);

/// What swapping costs with such a store, in the set's chunks. bad_input: it is not known, or out of range.
[[nodiscard]] Result<SwapCost> swap_cost(const ResolvedSet& set, StoreKind store);

/// The chunks that the capacity lacks; 0: everything fits.
[[nodiscard]] std::uint32_t overflow_of(const Plan& plan);

/// Notes what tasks ask to have on the device at the start, once they have their swap slots and the plan its frames.
/// bad_input: no whole chunks, more than the task's swap volume, or more than the frames hold in all.
[[nodiscard]] Result<> assign_residents(Plan& plan, const TaskSet& tasks);

/// Of one task, beside others: what is its own, and what it shares with them, of which the largest counts.
struct WholeChunks {
  Bytes kept{0};
  Bytes shared{0};
};
/// As plan_memory() counts them; what is outside of chunks is not there. `chunk` is not 0.
[[nodiscard]] WholeChunks whole_chunks(const MemoryDemand& memory, Bytes chunk, SwapPolicy policy);

/// Of all tasks together: what the store has to hold.
[[nodiscard]] Bytes swap_volume(const Plan& plan);

} // namespace rtexec::policies
