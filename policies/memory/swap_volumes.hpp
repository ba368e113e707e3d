// Chooses which chunks of each task are swapped if device memory is too small for all of them. volume_search.hpp
// chooses how many: the swap volume of each task.
//
// These functions read from a plan: order, chunk, capacity, demand, shared_scratch, swap (policy, copy_engines, cost),
// and each task's name, memory and arena. Every task of the set must have a wcet. Set-up only: allocates.
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

/// Returns the set as tests of the device alone see it: deadlines without CPU parts, and every part with the board's
/// charges. `urgency`: task indices, the most urgent first. The result has this order.
[[nodiscard]] DeviceSet device_set(const Plan& plan, const ResolvedSet& set, std::span<const std::size_t> urgency,
                                   std::uint32_t overflow);

/// Returns bad_input if a task is to swap more than it can, and not_proved, with the numbers, if no volumes fit.
[[nodiscard]] Result<> check_volumes(const Plan& plan, const ResolvedSet& set, std::uint32_t overflow);

/// Returns choices of swap volumes (numbers of swap slots, by task) with which everything fits. They are all different,
/// the most promising first, and at least one if check_volumes() succeeded. Volumes that the set gives are kept, in
/// whole chunks. For policy lru there is only one: all slots that may be swapped. `eighths`: the device may use
/// `eighths` / 8 of the time that CPU parts leave of each deadline. `charged`: by task, executions as the analysis
/// charges them, for condition (M) of swap_bounds.hpp; empty: without charges.
[[nodiscard]] std::vector<Volumes> swap_volumes(const Plan& plan, const ResolvedSet& set,
                                                std::span<const std::size_t> urgency, std::uint32_t overflow,
                                                int eighths = 8, std::span<const Nanos> charged = {});

/// For policy pipelined: returns other volumes, with which fewer chunks are swapped and some loads wait for the
/// executing job. The result may be empty.
[[nodiscard]] std::vector<Volumes> tight_swap_volumes(const Plan& plan, const ResolvedSet& set,
                                                      std::span<const std::size_t> urgency, std::uint32_t overflow,
                                                      int eighths = 8);

/// Gives each task its swap slots and their volume, and the plan its frames. `volumes` must be a result of the
/// functions above. May be called again with other volumes.
void assign_volumes(Plan& plan, const TaskSet& tasks, std::span<const std::uint32_t> volumes, std::uint32_t overflow);

} // namespace rtexec::policies
