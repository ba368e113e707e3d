// The task set as the analysis sees it. The length of each part includes the overheads of the board. The length of a
// device part also includes the time to move chunks if the plan swaps. A *charge* is such an overhead or move time,
// added to a measured or declared execution time. *Service threads* are the scheduler, the compute engine and the copy
// engines. Formulas, and assumptions about the measured costs: proofs/swapping.md.
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

/// Returns the release jitter of the first part of a job: the release latency and twice `platform_stall`.
/// `platform_stall` is the longest time for which firmware or a hypervisor halts the cores (a stop of the machine). A
/// stop delays some releases by up to `platform_stall`. The analysis measures jobs by a clock that stops with the
/// machine. By that clock, other releases come early by up to `platform_stall` (proofs/platform-stalls.md).
[[nodiscard]] inline Duration release_jitter(const Board& board) {
  return board.release_latency + 2 * board.platform_stall;
}

/// Returns the input whose new data releases `task`: the input that triggers the task, or the input that the calling
/// program fills. Returns null if there is no such input.
[[nodiscard]] const TaskInput* releasing_input(const Task& task);

/// The shortest time between two polls of a release thread that waits for iceoryx messages.
inline constexpr Duration message_looks = std::chrono::microseconds(500);
/// Returns the load of the polls for iceoryx messages on the core of `task`. The cost of the load is 0 if the task
/// waits for no iceoryx messages.
[[nodiscard]] Load looks_of(const Task& task, const Board& board);

/// Returns the charged length of a CPU part, at least 1 ns: even an empty part needs its core once, to start the next
/// part.
[[nodiscard]] Nanos on_core(Duration part, const Board& board);

/// Returns the charged length of a device part, including the scheduler's time to start and end it. Returns 0 if there
/// is no device part.
[[nodiscard]] Nanos on_device(Duration part, const Board& board);

/// Returns the charge for the time between two consecutive segments of a job. `ahead`: true if the second segment is
/// submitted to the device while the first segment executes; false if it is submitted after the first segment has
/// ended.
[[nodiscard]] Nanos between_segments(const Board& board, bool ahead);

/// Returns the fraction (0 to 1) of the device's time that the cuts between segments take if no job is preempted.
[[nodiscard]] double share_of_cuts(const Plan& plan, const ResolvedSet& set);

/// Returns the longest device part of each task of the set, with all its charges. The result is valid even if jobs are
/// late.
[[nodiscard]] std::vector<Nanos> charged_executions(const Plan& plan, const ResolvedSet& set);

/// Returns the charged set. `urgency`: task indices, the most urgent first. Each task of the plan must have its core
/// and, if the plan swaps, its swap volume (number of swapped chunks). Every task must have a wcet. `lateness`: whether
/// jobs may be late, on which the charges of service threads depend.
[[nodiscard]] NamedSet charged_set(const Plan& plan, const ResolvedSet& set, std::span<const std::size_t> urgency,
                                   Lateness lateness);

} // namespace rtexec::policies
