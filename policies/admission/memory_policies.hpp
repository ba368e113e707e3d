// Gives the tasks of a set their memory policies and makes the plan with them. Pure; rests on make_plan and
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

/// One task under one policy, as it was measured.
struct MeasuredPolicy {
  MemoryPolicy policy = MemoryPolicy::device;
  MemoryDemand memory;
  Wcet wcet;
  std::optional<Duration> wcet_beside{}, mapping_idle{}; // absent: as the task says
};

struct PolicyPlan {
  Plan plan;
  std::vector<std::size_t> chosen; // of each task, the place in what was measured of it
  bool exact = true;               // as in MemoryChoice, where one was made
};

/// `measured` is parallel to `set.tasks.tasks`; the tasks' own wcet is not read. A task that asks for a policy gets it;
/// one that asks for `automatic` gets one that the board has and that was measured.
///
/// A choice is made among what is proved without swapping and fits into the capacity, the host's memory included where
/// device and host share one. Where there is nothing of that kind, tasks have D as far as it can be chosen, otherwise
/// what comes first, and make_plan says the rest: it swaps, or the set is not proved. So a set in which only D can be
/// chosen gets the plan that make_plan makes of it. Under SCHED_FIFO, with priorities that are not searched, no other
/// choice is better; elsewhere that is so nearly always.
///
/// Where jobs execute beside others ([device] co_run), it is the better of two choices: of one in which tasks with
/// wcet_beside count as if each had a partner, so that it is proved then, too, and of one in which none has, where that
/// is proved with the pairs that there are. Another may be better still.
///
/// bad_input as make_plan, and where the board has no measured policy that a task may get.
[[nodiscard]] Result<PolicyPlan> choose_memory_policies(const ResolvedSet& set,
                                                        std::span<const std::vector<MeasuredPolicy>> measured,
                                                        MemoryObjective objective);

} // namespace rtexec::policies
