// Chooses which chunks of each task are swapped if device memory is too small for all chunks. volume_search.hpp chooses
// how many chunks of each task are swapped, its *swap volume*. A *swap slot* is the address range for one chunk that
// may be swapped, and a *frame* is a physical chunk.
//
// These functions read the following members of a plan: order, chunk, capacity, demand, shared_scratch, swap (policy,
// copy_engines, cost), and each task's name, memory and arena. Every task of the set must have a wcet. Set-up only:
// allocates.
#pragma once

#include <rtexec/plan.hpp>
#include <rtexec/result.hpp>
#include <rtexec/resolved_set.hpp>
#include "policies/device/device_set.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rtexec::policies {

/// Returns the set for tests of the device alone. Deadlines are reduced by CPU parts, and device parts include the
/// charges (overheads that the analysis adds). `urgency`: task indices, the most urgent first. The result has the order
/// of `urgency`.
[[nodiscard]] DeviceSet device_set(const Plan& plan, const ResolvedSet& set, std::span<const std::size_t> urgency,
                                   std::uint32_t overflow);

/// Checks whether each task can get a swap volume (number of swapped chunks) such that all chunks fit on the device.
/// `overflow`: the number of chunks that the device lacks. Returns bad_input if a task must swap more chunks than it
/// can. Returns not_proved if no swap volumes fit; the error then states the missing memory and the memory that can be
/// swapped.
[[nodiscard]] Result<> check_volumes(const Plan& plan, const ResolvedSet& set, std::uint32_t overflow);

/// Returns choices of swap volumes (numbers of swap slots, by task) with which everything fits. All choices are
/// different, and the most promising choice comes first. If check_volumes() succeeded, there is at least one choice.
/// Swap volumes that the set specifies are kept, in whole chunks. For swap policy lru the only choice is all slots that
/// may be swapped. `eighths`: the device may use `eighths` / 8 of each deadline less the CPU parts. `charged`: by task,
/// the execution time including the charges of the analysis, for condition (M) of swap_bounds.hpp; empty: execution
/// times without charges.
[[nodiscard]] std::vector<Volumes> swap_volumes(const Plan& plan, const ResolvedSet& set,
                                                std::span<const std::size_t> urgency, std::uint32_t overflow,
                                                int eighths = 8, std::span<const Nanos> charged = {});

/// For swap policy pipelined: returns further choices of swap volumes, with which fewer chunks are swapped and some
/// loads wait for the executing job. The result may be empty.
[[nodiscard]] std::vector<Volumes> tight_swap_volumes(const Plan& plan, const ResolvedSet& set,
                                                      std::span<const std::size_t> urgency, std::uint32_t overflow,
                                                      int eighths = 8);

/// Sets the swap slots and the swap volume of each task, and the frames of the plan. `volumes` must be a result of
/// swap_volumes() or tight_swap_volumes(). The function may be called again with other swap volumes.
void assign_volumes(Plan& plan, const TaskSet& tasks, std::span<const std::uint32_t> volumes, std::uint32_t overflow);

} // namespace rtexec::policies
