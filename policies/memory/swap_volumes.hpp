// Chooses which chunks of each task are swapped if device memory is too small for all of them. volume_search.hpp
// chooses how many.
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

/// Returns numbers of swap slots by task under which everything fits: all different, the most promising first, at least
/// one after check_volumes(). Volumes that the set gives are kept, in whole chunks. lru: a single one, all that may be
/// swapped. `eighths`: the share of what CPU parts leave of the deadlines that may be used. `charged`: executions as
/// the analysis charges them, by task, for condition (M); empty: without charges.
[[nodiscard]] std::vector<Volumes> swap_volumes(const Plan& plan, const ResolvedSet& set,
                                                std::span<const std::size_t> urgency, std::uint32_t overflow,
                                                int eighths = 8, std::span<const Nanos> charged = {});

/// pipelined: returns other volumes, with which less is swapped and some loads wait for the executing job. May be
/// empty.
[[nodiscard]] std::vector<Volumes> tight_swap_volumes(const Plan& plan, const ResolvedSet& set,
                                                      std::span<const std::size_t> urgency, std::uint32_t overflow,
                                                      int eighths = 8);

/// Gives each task its swap slots and their volume, and the plan its frames. `volumes` must be a result of the
/// functions above. May be called again with other volumes.
void assign_volumes(Plan& plan, const TaskSet& tasks, std::span<const std::uint32_t> volumes, std::uint32_t overflow);

} // namespace rtexec::policies
