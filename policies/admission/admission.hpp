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

/// Makes the plan. `memory` is parallel to `set.tasks.tasks`. Every task must carry a wcet (given or profiled).
///
/// The tests run in this order:
/// - the device alone: `demand` (EDF), `rta` (static priority), or `pipelined` (either, if jobs are loaded while others
///   execute);
/// - `core N`: each core that has real-time tasks, as if the device took no time;
/// - `end-to-end`, which decides Plan::proved and implies the others.
/// A real-time task is `promised`, and has a response bound, if end-to-end is proved. Under static priority the test
/// may prove only the most urgent tasks; these are promised as well.
///
/// threads = deadline plans for SCHED_DEADLINE: the plan carries reservations for CPU parts. Otherwise it is for
/// SCHED_FIFO.
///
/// Tasks that name no core get one of the machine's cores. The plan uses the first of a few assignments with which the
/// set is proved, or else the one that comes closest.
///
/// If the memory of all tasks does not fit, it chooses swap volumes (how many chunks each task swaps) for which the set
/// is proved, or else those that come closest.
///
/// `layered` says at which layers device parts can be cut into segments. It is parallel to `set.tasks.tasks`, in
/// execution times without charges; empty: they cannot be cut. Jobs are cut if the set is not proved with one segment
/// for each job, or if the set gives classes or cuts. Tasks are then put into classes, as far as needed
/// (segment_search.hpp). The plan accounts for the memory that tasks need if they are cut. If the set is not proved
/// with that memory, and gives neither classes nor cuts, jobs stay whole.
///
/// Returns bad_input if the set cannot be planned at all:
/// - a task has no wcet, times out of range, or no explicit priority;
/// - the set asks for more capacity than the board has, or none is known;
/// - the board lacks a memory policy;
/// - the memory does not fit, and the cost of swapping is unknown.
/// Returns not_proved if the memory does not fit even with swapping. Then there is no plan, and --force cannot help.
[[nodiscard]] Result<Plan> make_plan(const ResolvedSet& set, std::span<const MemoryDemand> memory,
                                     std::span<const LayeredTask> layered = {});

/// Checks whether make_plan() can plan the set, as far as can be told without making a plan. Otherwise returns
/// bad_input, as make_plan() does.
[[nodiscard]] Result<> can_be_planned(const ResolvedSet& set, std::span<const MemoryDemand> memory);

} // namespace rtexec::policies
