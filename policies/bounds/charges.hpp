// The set as the analysis sees it: every part with what the board and, where the plan swaps, moving chunks add to it.
// Formulas, and what is assumed of the measured costs: proofs/swapping.md.
#pragma once

#include <rtexec/plan.hpp>
#include <rtexec/resolved_set.hpp>
#include "policies/bounds/findings.hpp"

#include <chrono>
#include <cstddef>
#include <span>

namespace rtexec::policies {

/// Whether CPU parts are planned for SCHED_DEADLINE.
[[nodiscard]] inline bool reserved(const TaskSet& tasks) { return tasks.executive.threads == ThreadPolicy::deadline; }

/// Of a first part. A machine that stops makes some releases late, and the others early by its own time: each once.
[[nodiscard]] inline Duration release_jitter(const Board& board) { return board.release_latency + 2 * board.hold_up; }

/// The input that has something new when `task` is released: what releases it, or what the program that calls puts in.
/// Null: none has.
[[nodiscard]] const TaskInput* releasing_input(const Task& task);

/// A release thread that waits for messages of iceoryx looks for them no more often.
inline constexpr Duration message_looks = std::chrono::microseconds(500);
/// What that brings to the core of `task`; cost 0: it does not wait so.
[[nodiscard]] Load looks_of(const Task& task, const Board& board);

/// A CPU part. One of no length still needs its core once, to hand the job on: at least 1 ns.
[[nodiscard]] Nanos on_core(Duration part, const Board& board);

/// A device part, begun and ended by the scheduler; 0 where there is none.
[[nodiscard]] Nanos on_device(Duration part, const Board& board);

/// What admission charges for the time between two segments of a job, where the device has the second one only when the
/// first one has ended, or ahead of its turn.
[[nodiscard]] Nanos between_segments(const Board& board, bool ahead);

/// What that is of the device's time, where nobody preempts jobs, as a share of 1.
[[nodiscard]] double share_of_cuts(const Plan& plan, const ResolvedSet& set);

/// How long the device part of each task may take, with all that is charged to it whoever is late; by task.
[[nodiscard]] std::vector<Nanos> charged_executions(const Plan& plan, const ResolvedSet& set);

/// `urgency`: task indices, the most urgent first. Each task of the plan has its core. Where the plan swaps, its
/// volumes are assigned. Every task has a wcet.
[[nodiscard]] NamedSet charged_set(const Plan& plan, const ResolvedSet& set, std::span<const std::size_t> urgency,
                                   Lateness lateness);

} // namespace rtexec::policies
