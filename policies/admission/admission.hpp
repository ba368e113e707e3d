// Makes the plan of a task set: priorities, stage deadlines, device memory, and the admission tests with their numbers.
// Pure.
//
// A set is *proved* if the tests show that every real-time task keeps its deadline. A set that is not proved may still
// be schedulable. A *charge* is an overhead that the tests add to an execution time. The *slack* is the time that
// remains in a test, negative if the test fails. Of several plans that are not proved, the plan with the largest
// end-to-end slack comes *closest* to a proof. Assumptions, formulas and proofs: policies/proofs, beginning with
// notation.md.
#pragma once

#include <rtexec/plan.hpp>
#include <rtexec/result.hpp>
#include <rtexec/resolved_set.hpp>
#include "policies/device/segment_search.hpp"

#include <span>

namespace rtexec::policies {

/// Makes the plan. `memory` must be parallel to `set.tasks.tasks`. Every task must have a wcet (specified or profiled).
///
/// The tests run in this order:
/// - the device alone: `demand` (EDF) or `rta` (static priority); `pipelined` for either order, if chunks of one job
///   are loaded while others execute;
/// - `core N`: each core that has real-time tasks, as if the device took no time;
/// - `end-to-end`: decides Plan::proved, and implies the other tests.
/// If end-to-end is proved, each real-time task is `promised` and has a response bound. Otherwise the test under static
/// priority may still prove the most urgent tasks. Then only these tasks are promised.
///
/// With threads = "deadline", the plan is for SCHED_DEADLINE and contains reservations for CPU parts. Otherwise the
/// plan is for SCHED_FIFO.
///
/// Tasks that name no core get one of the machine's cores. make_plan() tries a few assignments of cores, and takes the
/// first assignment with which the set is proved. If no assignment proves the set, make_plan() takes the assignment
/// that comes closest to a proof.
///
/// If the memory of all tasks does not fit, make_plan() chooses swap volumes (how many chunks each task swaps). It
/// takes the first swap volumes for which the set is proved, or else the swap volumes that come closest to a proof.
///
/// `layered`: the layers at which device parts can be cut into segments, with execution times without charges. It must
/// be parallel to `set.tasks.tasks`; empty: device parts cannot be cut. Jobs are cut if the set is not proved with one
/// segment for each job, or if the set specifies classes or cuts. Tasks are then put into classes, as far as needed
/// (segment_search.hpp). The plan includes the memory that tasks need when they are cut. If the set is not proved with
/// that memory, and specifies neither classes nor cuts, jobs are not cut.
///
/// Returns bad_input if the set cannot be planned at all:
/// - a task has no wcet, times out of range, or no explicit priority although the set requires one;
/// - the set requests more capacity than the board has, or no capacity is known;
/// - the board lacks a memory policy;
/// - the memory does not fit, and the cost of swapping is unknown.
/// Returns not_proved if the memory does not fit even with swapping. Then there is no plan, and --force cannot help.
[[nodiscard]] Result<Plan> make_plan(const ResolvedSet& set, std::span<const MemoryDemand> memory,
                                     std::span<const LayeredTask> layered = {});

/// Checks whether make_plan() can plan the set, as far as possible without making a plan. Returns bad_input for the
/// reasons listed at make_plan().
[[nodiscard]] Result<> can_be_planned(const ResolvedSet& set, std::span<const MemoryDemand> memory);

} // namespace rtexec::policies
