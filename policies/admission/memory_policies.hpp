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
  std::optional<Duration> wcet_beside{}, mapping_idle{}; // absent: the task's own value counts
};

struct PolicyPlan {
  Plan plan;
  std::vector<std::size_t> chosen; // by task: the index of its choice in `measured`
  bool exact = true;               // see MemoryChoice::exact; true if no choice was made
};

/// Chooses the policies and returns the plan. `measured` is parallel to `set.tasks.tasks`; the tasks' own wcet is not
/// read. A task that asks for a policy gets that policy. A task that asks for `automatic` gets one that the board has
/// and that was measured.
///
/// A choice must be proved without swapping and fit into the capacity. The host's memory counts, too, if device and
/// host share one memory. If there is no such choice, each task gets policy D (device memory) if it may, otherwise its
/// first allowed policy. make_plan() then decides the rest: it swaps, or the set is not proved. So a set in which only
/// D can be chosen gets the plan that make_plan() makes of it.
///
/// With SCHED_FIFO and priorities that are not searched, no other choice is better. Otherwise that holds in nearly all
/// cases.
///
/// If tasks co-run ([device] co_run), the result is the better of two choices. The first treats each task with
/// wcet_beside as if it had a partner, so that its plan holds even if it has one. The second treats tasks as if none
/// had a partner; it counts only if it is proved with the actual pairs. A third choice may be better still.
///
/// Returns bad_input as make_plan does, and if the board has no measured policy that a task may get.
[[nodiscard]] Result<PolicyPlan> choose_memory_policies(const ResolvedSet& set,
                                                        std::span<const std::vector<MeasuredPolicy>> measured,
                                                        MemoryObjective objective);

} // namespace rtexec::policies
