// The set as the analysis sees it: every part includes the overheads of the board and, if the plan swaps, of moving
// chunks. Formulas, and assumptions about the measured costs: proofs/swapping.md.
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

/// Returns the release jitter of a first part. A stop of the machine delays some releases by up to `hold_up`. Measured
/// by a clock that stops with the machine, other releases come early by as much (proofs/hold-ups.md).
[[nodiscard]] inline Duration release_jitter(const Board& board) { return board.release_latency + 2 * board.hold_up; }

/// Returns the input whose new data releases `task`: the one that triggers it, or the one that the calling program
/// fills. Returns null if there is none.
[[nodiscard]] const TaskInput* releasing_input(const Task& task);

/// The shortest time between two polls of a release thread that waits for iceoryx messages.
inline constexpr Duration message_looks = std::chrono::microseconds(500);
/// Returns the load of these polls on the core of `task`; its cost is 0 if the task does not poll.
[[nodiscard]] Load looks_of(const Task& task, const Board& board);

/// Returns the charged length of a CPU part, at least 1 ns: an empty part still needs its core once, to hand the job
/// on.
[[nodiscard]] Nanos on_core(Duration part, const Board& board);

/// Returns the charged length of a device part, with its start and its end by the scheduler; 0 if there is none.
[[nodiscard]] Nanos on_device(Duration part, const Board& board);

/// Returns the charge for the time between two segments of a job. `ahead`: the device gets the second one ahead of its
/// turn, and otherwise only when the first one has ended.
[[nodiscard]] Nanos between_segments(const Board& board, bool ahead);

/// Returns the share of the device's time, as a fraction of 1, that these charges take if no job is preempted.
[[nodiscard]] double share_of_cuts(const Plan& plan, const ResolvedSet& set);

/// Returns the longest device part of each task, by task, with all its charges, whichever jobs are late.
[[nodiscard]] std::vector<Nanos> charged_executions(const Plan& plan, const ResolvedSet& set);

/// Returns the charged set. `urgency`: task indices, the most urgent first. Each task of the plan has its core. If the
/// plan swaps, its volumes are assigned. Every task has a wcet.
[[nodiscard]] NamedSet charged_set(const Plan& plan, const ResolvedSet& set, std::span<const std::size_t> urgency,
                                   Lateness lateness);

} // namespace rtexec::policies
