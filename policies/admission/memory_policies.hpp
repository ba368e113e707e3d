// Chooses the memory policies of a set's tasks, and makes the plan with them. Pure; uses make_plan and
// memory_assignment.
#pragma once

#include <rtexec/memory.hpp>
#include <rtexec/plan.hpp>
#include <rtexec/resolved_set.hpp>
#include <rtexec/result.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace rtexec::policies {

/// The measurements of one task under one policy.
struct MeasuredPolicy {
  MemoryPolicy policy = MemoryPolicy::device;
  MemoryDemand memory;
  Wcet wcet;
  std::optional<Duration> wcet_beside{}, mapping_idle{}; // absent: as the task says
};

struct PolicyPlan {
  Plan plan;
  std::vector<std::size_t> chosen; // by task: the index of its choice in `measured`
  bool exact = true;               // as in MemoryChoice, if a choice was made
};

/// Chooses the policies and returns the plan. `measured` is parallel to `set.tasks.tasks`; the tasks' own wcet is not
/// read. A task that asks for a policy gets it. A task that asks for `automatic` gets one that the board has and that
/// was measured.
///
/// A choice must be proved without swapping and fit into the capacity, with the host's memory if device and host share
/// one. If there is none, tasks get D if they may, otherwise the first allowed policy, and make_plan decides the rest:
/// it swaps, or the set is not proved. So a set in which only D can be chosen gets the plan that make_plan makes of it.
/// Under SCHED_FIFO, with priorities that are not searched, no other choice is better. Otherwise that is nearly always
/// so.
///
/// If tasks co-run ([device] co_run), the result is the better of two choices. In one, tasks with wcet_beside count as
/// if each had a partner, so that the set is proved in that case, too. In the other, none has a partner; it counts if
/// it is proved with the actual pairs. Another choice may be better still.
///
/// Returns bad_input as make_plan does, and if the board has no measured policy that a task may get.
[[nodiscard]] Result<PolicyPlan> choose_memory_policies(const ResolvedSet& set,
                                                        std::span<const std::vector<MeasuredPolicy>> measured,
                                                        MemoryObjective objective);

} // namespace rtexec::policies
