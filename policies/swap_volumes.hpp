// How many chunks of each task are swapped, where device memory is too small for all of them.
//
// x_i: swap slots of task i. V: overflow, the chunks that are missing. P = sum of x - V: frames, the chunks that the swap slots share.
// A job executes when all swap slots of its task hold a frame, so everything fits where
//   max x <= P                                                                    RT-Swap (1c), for every policy, and
//   x_k + max of the others' x <= P  or  alpha (P - x_k) >= C_k                   for each k that swaps: pipelined, (M) of policies/README.md
// alpha: what one chunk of a load takes, C_k: device part of k. Where any volumes fit, the largest do (proof: policies/README.md).
//
// Read here of a plan: chunk, capacity, demand, shared_scratch, swap (policy, copy_engines, cost), and each task's name, memory and arena.
// Every task of the set must have a wcet. Set-up only: allocates.
#pragma once

#include "config/board.hpp"
#include "config/plan.hpp"
#include "config/result.hpp"
#include "config/task_set.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rtexec::policies {

/// bad_input: a task is to swap more than it can. not_proved, with the numbers: no volumes fit.
[[nodiscard]] Result<> check_volumes(const Plan& plan, const TaskSet& tasks, const Board& board, std::uint32_t overflow);

/// At most so many volumes are proposed.
inline constexpr std::size_t most_volumes = 64;

/// Numbers of swap slots by task under which everything fits, each different, the most promising first; empty: there is none, as
/// check_volumes() says. Volumes that tasks give are kept, in whole chunks. lru: one, all that may be swapped.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> swap_volumes(const Plan& plan, const TaskSet& tasks, const Board& board, std::uint32_t overflow);

/// Gives each task its swap slots and their volume, and the plan its frames. `volumes` must be of swap_volumes(); may be called again with others.
void assign_volumes(Plan& plan, const TaskSet& tasks, std::span<const std::uint32_t> volumes, std::uint32_t overflow);

} // namespace rtexec::policies
