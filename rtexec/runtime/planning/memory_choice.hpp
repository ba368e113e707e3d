// Chooses the memory policies of tasks for which the task set states neither a policy nor a WCET. The choice uses the
// profile's measurements under each policy. Set-up only: makes workloads. Choosing may first open the device, to query
// its capacity.
#pragma once

#include "rtexec/runtime/planning/loaded_set.hpp"

#include <span>
#include <vector>

namespace rtexec::executive {

/// Returns the memory policies that `task` may have on `board`, device memory (D) first. Returns an empty list if the
/// task set names the task's policy. Also returns an empty list if the task set states the task's WCET, because a WCET
/// is valid for one policy only.
[[nodiscard]] std::vector<MemoryPolicy> open_policies(const Task& task, const Board& board);

/// Assigns a measured memory policy, and a workload made for this policy, to each task of `choosing` (indices). Stores
/// the reason of each choice. Requires that the set contains each task's workload made for its first policy of
/// open_policies(), the links of these workloads, and the capacity. Does not connect the new workloads. If no choice is
/// proved schedulable, or a task was not measured, the set stays unchanged, and planning reports the reason. Returns
/// not_proved if no choice fits into memory, and the unchanged set does not fit without swapping either.
[[nodiscard]] Result<> choose_memory(LoadedSet& set, std::span<const std::size_t> choosing);

} // namespace rtexec::executive
