// Chooses memory policies for tasks that leave theirs open, by the measurements that the profile holds for each policy.
// Set-up only: makes workloads. It may first open the device, to query its capacity.
#pragma once

#include "rtexec/runtime/planning/loaded_set.hpp"

#include <span>
#include <vector>

namespace rtexec::executive {

/// Returns the memory policies that `task` may have on `board`, device memory (D) first. Returns an empty list if the
/// task names its policy, or gives its WCET, which holds for one policy only.
[[nodiscard]] std::vector<MemoryPolicy> open_policies(const Task& task, const Board& board);

/// Gives each task of `choosing` (indices) a measured memory policy and a workload made for it, and stores the reason.
/// The set must hold the workloads made under the first open policy of each task. Their links and the capacity must be
/// known. The new workloads are not connected yet. If no choice is proved, or a task was not measured, the set stays
/// unchanged, and planning reports the reason. Returns not_proved if no choice fits, and the unchanged set does not fit
/// without swapping either.
[[nodiscard]] Result<> choose_memory(LoadedSet& set, std::span<const std::size_t> choosing);

} // namespace rtexec::executive
