// Memory policies of tasks that leave theirs open: what was measured under each, and which the planner takes. Set-up
// only: makes workloads, and may open the device for its capacity before.
#pragma once

#include "rtexec/runtime/planning/loaded_set.hpp"

#include <span>
#include <vector>

namespace rtexec::executive {

/// What `task` could have its memory under on `board`, D first. One at most, where it asks for it or gives its WCET,
/// which is of one.
[[nodiscard]] std::vector<MemoryPolicy> open_policies(const Task& task, const Board& board);

/// Gives each task of `choosing` a policy that was measured, with its workload, and notes why. Workloads are made,
/// under the first of the open policies; the links between them and the capacity are known. The workloads that it gives
/// are not connected yet. Where nothing can be proved, or nothing is known of a task, they stay as they are: who plans
/// the set tells why. not_proved: no choice fits, and without swapping nor do they as they are.
[[nodiscard]] Result<> choose_memory(LoadedSet& set, std::span<const std::size_t> choosing);

} // namespace rtexec::executive
