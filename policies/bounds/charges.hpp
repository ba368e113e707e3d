// The task set as the analysis sees it: every part includes the overheads of the board. If the plan swaps, device parts
// include the time to move chunks. Formulas, and assumptions about the measured costs: proofs/swapping.md.
#pragma once

#include <rtexec/plan.hpp>
#include <rtexec/resolved_set.hpp>
#include "policies/bounds/findings.hpp"

#include <chrono>
#include <cstddef>
#include <span>

namespace rtexec::policies {

/// True if CPU parts are planned for SCHED_DEADLINE.
[[nodiscard]] inline bool reserved(const TaskSet& tasks) { return tasks.executive.threads == ThreadPolicy::deadline; }

/// Returns the release jitter of the first part of a job, on a board whose machine may stop (`platform_stall`: firmware
/// or a hypervisor halts the cores, for at most that long). A stop delays some releases by up to `platform_stall`. Jobs
/// are timed by a clock that stops with the machine, and by it other releases come early by as much
/// (proofs/platform-stalls.md).
[[nodiscard]] inline Duration release_jitter(const Board& board) {
  return board.release_latency + 2 * board.platform_stall;
}

/// Returns the input whose new data releases `task`: the one that triggers it, or the one that the calling program
/// fills. Returns null if there is none.
[[nodiscard]] const TaskInput* releasing_input(const Task& task);

/// The shortest time between two polls of a release thread that waits for iceoryx messages.
inline constexpr Duration message_looks = std::chrono::microseconds(500);
/// Returns the load of these polls on the core of `task`; its cost is 0 if the task waits for no iceoryx messages.
[[nodiscard]] Load looks_of(const Task& task, const Board& board);

/// Returns the charged length of a CPU part, at least 1 ns: an empty part still needs its core once, to hand the job
/// on.
[[nodiscard]] Nanos on_core(Duration part, const Board& board);

/// Returns the charged length of a device part, with its start and its end by the scheduler; 0 if there is none.
[[nodiscard]] Nanos on_device(Duration part, const Board& board);

/// Returns the charge for the time between two segments of a job. `ahead`: the second one is submitted to the device
/// while the first one executes, and otherwise only when the first one has ended.
[[nodiscard]] Nanos between_segments(const Board& board, bool ahead);

/// Returns the share of the device's time, as a fraction of 1, that the cuts between segments take if no job is
/// preempted.
[[nodiscard]] double share_of_cuts(const Plan& plan, const ResolvedSet& set);

/// Returns the longest device part of each task of the set, with all its charges. It holds whichever jobs are late.
[[nodiscard]] std::vector<Nanos> charged_executions(const Plan& plan, const ResolvedSet& set);

/// Returns the charged set. `urgency`: task indices, the most urgent first. Each task of the plan must have its core,
/// and its volume (number of swapped chunks) if the plan swaps. Every task must have a wcet. `lateness`: which jobs the
/// charges of service threads assume to be late.
[[nodiscard]] NamedSet charged_set(const Plan& plan, const ResolvedSet& set, std::span<const std::size_t> urgency,
                                   Lateness lateness);

} // namespace rtexec::policies
