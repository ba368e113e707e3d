// Which chunks of each task are swapped, where device memory is too small for all of them; how many, volume_search.hpp
// says.
//
// Read here of a plan: order, chunk, capacity, demand, shared_scratch, swap (policy, copy_engines, cost), and each
// task's name, memory and arena. Every task of the set must have a wcet. Set-up only: allocates.
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

/// The set as tests of the device alone see it: the deadlines without CPU parts, every part with the board's charges.
/// `urgency`: task indices, the most urgent first; its tasks are in this order.
[[nodiscard]] DeviceSet device_set(const Plan& plan, const ResolvedSet& set, std::span<const std::size_t> urgency,
                                   std::uint32_t overflow);

/// bad_input: a task is to swap more than it can. not_proved, with the numbers: no volumes fit.
[[nodiscard]] Result<> check_volumes(const Plan& plan, const ResolvedSet& set, std::uint32_t overflow);

/// Numbers of swap slots by task under which everything fits, each different, the most promising first; at least one
/// after check_volumes(). Volumes that tasks give are kept, in whole chunks. lru: one, all that may be swapped. For
/// `eighths` of what CPU parts leave of the deadlines. `charged`: executions as the analysis charges them, by task, for
/// condition (M); empty: as they are.
[[nodiscard]] std::vector<Volumes> swap_volumes(const Plan& plan, const ResolvedSet& set,
                                                std::span<const std::size_t> urgency, std::uint32_t overflow,
                                                int eighths = 8, std::span<const Nanos> charged = {});

/// pipelined: others, with which less is swapped and some loads wait for the job beside them. May be empty.
[[nodiscard]] std::vector<Volumes> tight_swap_volumes(const Plan& plan, const ResolvedSet& set,
                                                      std::span<const std::size_t> urgency, std::uint32_t overflow,
                                                      int eighths = 8);

/// Gives each task its swap slots and their volume, and the plan its frames. `volumes` must be of one of these;
/// may be called again with others.
void assign_volumes(Plan& plan, const TaskSet& tasks, std::span<const std::uint32_t> volumes, std::uint32_t overflow);

} // namespace rtexec::policies
