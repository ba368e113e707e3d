// Chooses the memory policy of each task of a set, and makes the plan with these policies. A memory policy says in
// which kind of memory the data of a task is (MemoryPolicy). Pure; uses make_plan() and memory_assignment.hpp.
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

/// The measured times and memory of one task under one policy.
struct MeasuredPolicy {
  MemoryPolicy policy = MemoryPolicy::device;
  MemoryDemand memory;
  Wcet wcet;
  std::optional<Duration> co_run_wcet{}, mapping_idle{}; // absent: the value in the task set applies
};

struct PolicyPlan {
  Plan plan;
  std::vector<std::size_t> chosen; // by task: the index of the chosen entry in `measured`
  bool exact = true;               // see MemoryChoice::exact; true also if there was nothing to choose
};

/// Chooses the policies and returns the plan. `measured` must be parallel to `set.tasks.tasks`; the tasks' own wcet is
/// ignored. A task that specifies a policy gets that policy. A task that specifies `automatic` gets a policy that the
/// board has and that was measured.
///
/// A choice must be proved without swapping, and its memory must fit into the capacity. Host memory counts too if
/// device and host share one memory. If no choice meets these conditions, each task gets policy D (device memory) if D
/// is allowed, and otherwise its first allowed policy. make_plan() then swaps, or the set is not proved. So if only
/// policy D can be chosen, the result is the plan of make_plan().
///
/// The choice is optimal with SCHED_FIFO and priorities that are not searched. In other cases it is nearly always
/// optimal.
///
/// If tasks co-run ([device] co_run), the result is the better of two choices. The first choice treats each task with
/// co_run_wcet as if it had a partner (a task that it co-runs with), so that its plan is valid with or without
/// partners. The second choice treats tasks as if none had a partner; it is used only if it is proved with the actual
/// pairs. The result may then not be optimal.
///
/// Returns bad_input for the reasons listed at make_plan(). Also returns bad_input if a task may only get policies that
/// the board lacks or that were not measured.
[[nodiscard]] Result<PolicyPlan> choose_memory_policies(const ResolvedSet& set,
                                                        std::span<const std::vector<MeasuredPolicy>> measured,
                                                        MemoryObjective objective);

} // namespace rtexec::policies
