// Bounds on the time from an event to the output of a chain of tasks that answers the event, and on the age of the
// chain's data. The bounds follow from periods, offsets and response bounds. Definitions, theorems and proofs:
// proofs/chains.md. Pure.
//
// A job reads its inputs when its first part begins, and its outputs appear when its last part ends. Under `let` a job
// reads at its release, and its outputs appear at its deadline. An output is visible to all jobs that read when it
// appears or later. Definitions:
//
// - The *reaction time* of an event is the time until the first output of the last task that answers the event. An
//   output answers an event if it was made from data that a job of the first task read at the event or later. The
//   reaction time is longest if the event comes just after a job has read. If inputs or calls release the first task,
//   the event is the trigger of the job, even if the gate (SporadicGate) delays the job.
// - The *reduced data age* of an output is the time from the read of its data by the first task until the output
//   appears. The *data age* is the time from that read until the next output replaces the output. While the output is
//   in use, its data are not older than the data age.
//
// If the first task has an input delay (ChainTask::input_delay), reaction times and data ages count from the sampling
// of its input. Otherwise they count from the instant at which its job reads or is triggered.
//
// Events before the first output of the chain are not counted. A bound holds while every task of the chain keeps its
// response bound, no part exceeds its WCET, and timers keep their periods.
#pragma once

#include "policies/exact_arithmetic.hpp"
#include <rtexec/plan.hpp>
#include <rtexec/resolved_set.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace rtexec::policies {

/// The properties of a task of a chain that determine the bounds.
struct ChainTask {
  enum class Release : std::uint8_t {
    timer,    // at offset + k period
    sporadic, // at least a period apart; two releases may be any time apart
    after,    // by each output of the previous task, through a gate (SporadicGate) of at most its period
  };
  Release release{};
  Nanos period = 1;
  Nanos offset = 0;
  /// The longest time from the nominal release to the output.
  Nanos output = 0;
  /// E: the time after the nominal release from which on no job of the next task can begin until this task's output has
  /// appeared. The next task samples this task's outputs. Set only if this task keeps the next task off their common
  /// core. Absent: a job of the next task may begin at any time before the output.
  std::optional<Nanos> shuts_out{};
  /// For the first task: the longest time from the sampling of a job's input to the nominal release of the job. If no
  /// timer releases the task, the samples must be at least a period apart. Absent: the delay is unknown, and times
  /// count from the reads and releases of the task.
  std::optional<Nanos> input_delay{};
};

struct ChainBounds {
  /// A part of the reaction time.
  struct Term {
    Nanos waits = 0; // the time from the event, or from the output of the previous task, to the release
    Nanos takes = 0; // the time from the release to the output, or to the earlier instant of ChainTask::shuts_out
  };
  std::vector<Term> terms; // by task
  std::optional<Nanos> reaction, age, reduced_age;
  std::optional<std::size_t> sporadic; // the first sporadic task; because of this task a bound is missing
};

/// Returns the bounds of a chain of at least one task. The first task must not be released by another task (`after`).
[[nodiscard]] ChainBounds chain_bounds(std::span<const ChainTask> chain);

/// Returns the bound by Davare et al. (DAC 2007) on the reaction time: the sum of `period` + `output` over all tasks,
/// plus the first task's `input_delay` (0 if absent). `output` is a time: see ChainTask. Returns nullopt if the sum has
/// no finite value.
[[nodiscard]] std::optional<Nanos> davare_bound(std::span<const ChainTask> chain);

/// Returns how the task passes its data to other tasks. All chains of a task have the same setting. A task without a
/// chain is immediate.
[[nodiscard]] Communication communication_of(const TaskSet& tasks, std::string_view task);

/// Returns the chains of the set, with their bounds and limits. The cores, ranks and response bounds of `plan` must be
/// set.
[[nodiscard]] std::vector<PlannedChain> planned_chains(const Plan& plan, const ResolvedSet& set);

} // namespace rtexec::policies
