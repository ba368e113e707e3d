// Chooses memory policies for tasks that leave theirs open, from the measurements under each policy. Set-up only: makes
// workloads, and may first open the device to query its capacity.
#pragma once

#include "rtexec/runtime/planning/loaded_set.hpp"

#include <span>
#include <vector>

namespace rtexec::executive {

/// Returns the policies that `task` may have on `board`, D first. Returns an empty list if the task names its policy,
/// or gives its WCET, which holds for one policy only.
[[nodiscard]] std::vector<MemoryPolicy> open_policies(const Task& task, const Board& board);

/// Gives each task of `choosing` a measured policy with its workload, and notes the reason. The workloads must be made,
/// under the first open policy; their links and the capacity must be known. The new workloads are not connected yet. If
/// no choice is proved, or a task was not measured, all stay unchanged, and planning reports the reason. Returns
/// not_proved if no choice fits, and the unchanged set does not fit without swapping either.
[[nodiscard]] Result<> choose_memory(LoadedSet& set, std::span<const std::size_t> choosing);

} // namespace rtexec::executive
