// Makes the plan: priorities, stage deadlines, device memory, and the admission tests with their numbers. Pure.
//
// Assumptions, formulas and proofs: policies/proofs. "not proved" is not "unschedulable".
#pragma once

#include <rtexec/plan.hpp>
#include <rtexec/result.hpp>
#include <rtexec/resolved_set.hpp>
#include "policies/device/segment_search.hpp"

#include <span>

namespace rtexec::policies {

/// `memory` is parallel to `tasks.tasks`. Every task must carry a wcet (given or profiled).
///
/// Tests, in this order: the device alone, `demand` (EDF), `rta` (static priority) or `pipelined` (either, where jobs
/// are loaded beside others); `core N`, each core that has real-time tasks, as if the device took no time;
/// `end-to-end`, which decides Plan::proved and implies the others. A real-time task is `promised`, and has a response
/// bound, when end-to-end is proved; under static priority also when it is proved down to this task.
///
/// threads = deadline plans for SCHED_DEADLINE: CPU parts in reservations, which the plan then carries. Otherwise for
/// SCHED_FIFO.
///
/// Tasks that name no core are given one of the machine's: the first of a few assignments that is proved, or else the
/// one that comes closest.
///
/// Where not everything fits, volumes are chosen for which the set is proved, or else those that come closest.
///
/// `layered` says how device parts can be cut, parallel to `tasks.tasks`, in execution times without charges; empty:
/// they cannot be. Where the set is not proved with one segment for each job, or where classes or cuts are given, jobs
/// are cut and tasks put into classes, as far as needed (segment_search.hpp). The plan holds with the memory that tasks
/// ask for where they are cut so; where none that does is proved, and nothing is given, it is one with whole jobs.
///
/// bad_input where the set cannot be planned at all: no wcet, times out of range, no explicit priority, more capacity
/// than the board has or none that is known, a memory policy that it lacks, no cost of swapping where not everything
/// fits. not_proved where the memory does not fit, swapped or not: then there is no plan to force.
[[nodiscard]] Result<Plan> make_plan(const ResolvedSet& set, std::span<const MemoryDemand> memory,
                                     std::span<const LayeredTask> layered = {});

/// Whether make_plan can plan the set, as far as that does not take a plan: otherwise bad_input, as there.
[[nodiscard]] Result<> can_be_planned(const ResolvedSet& set, std::span<const MemoryDemand> memory);

} // namespace rtexec::policies
