// Device memory of a plan, in whole chunks.
#pragma once

#include "config/board.hpp"
#include "config/plan.hpp"
#include "config/result.hpp"
#include "config/task_set.hpp"

#include <span>

namespace rtexec::policies {

/// Fills in demand, separate, capacity and chunk, and each task's memory and memory policy.
/// demand = sum over tasks of constants and state + the largest scratch: one job executes at a time, so all scratch is the same chunks.
/// bad_input: more capacity than the board has, none that is known, a chunk of no size, a policy that the board lacks. not_proved: the
/// demand exceeds the capacity; no plan can be made then, so that not even a forced run starts.
[[nodiscard]] Result<> plan_memory(Plan& plan, const TaskSet& tasks, const Board& board, std::span<const MemoryDemand> memory);

} // namespace rtexec::policies
