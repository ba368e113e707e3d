// How long a chain of tasks takes from an event to the output that answers it, and how old its data are: bounds from
// periods, offsets and response bounds. Definitions, theorems and proofs: proofs/chains.md. Pure.
//
// A job reads when its first part begins, and its outputs appear when its last part ends; under `let` it reads at its
// release, and they appear at its deadline. An output is there for whoever reads at its instant or later. Then
//
// - the *reaction time* of an event is the time until the end of the first output of the last task that was made of
//   what a job of the first task read at the event or later. The worst event comes just after a job has read. Of a task
//   that inputs or calls release, the event is what triggers the job, also where the gate delays it.
// - the *reduced data age* of an output is the time since the first task read what it was made of, when it appears; the
//   *data age* the same when the next output replaces it: while it is in use it is not older.
//
// Where the first task has an input delay, what counts in both is not when a job of it reads, nor what triggers it, but
// the sampling of what it reads.
//
// Counted from the first output on. A bound holds while every task of the chain keeps its response bound, no part
// exceeds its WCET, and timers keep their periods.
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

/// A task of a chain, as its bounds see it.
struct ChainTask {
  enum class Release : std::uint8_t {
    timer,    // at offset + k period
    sporadic, // at least a period apart, and nothing says how far
    after,    // by each output of the task before, through a gate of at most its period
  };
  Release release{};
  Nanos period = 1;
  Nanos offset = 0;
  /// From the nominal release to the output, at most.
  Nanos output = 0;
  /// From the nominal release, at most, until no job of the next task, which samples this one, begins before the
  /// output; absent: it may until then.
  std::optional<Nanos> shuts_out{};
  /// Of the first task: from the sampling of what a job reads to its nominal release, at most; where no timer releases
  /// it, the source samples at least a period apart. Absent: not known, and times count from the task's own instants.
  std::optional<Nanos> input_delay{};
};

struct ChainBounds {
  /// A part of the reaction time.
  struct Term {
    Nanos waits = 0; // from the output before, or the event, to the release
    Nanos takes = 0; // from there to the output, or until the next task's jobs are shut out
  };
  std::vector<Term> terms; // by task
  std::optional<Nanos> reaction, age, reduced_age;
  std::optional<std::size_t> sporadic; // the task by which one of them is missing
};

/// The first task is not released after another. At least one task.
[[nodiscard]] ChainBounds chain_bounds(std::span<const ChainTask> chain);

/// The sum of periods and outputs (Davare et al., DAC 2007), and the input delay before them.
[[nodiscard]] std::optional<Nanos> davare_bound(std::span<const ChainTask> chain);

/// How the task passes its data: all chains that it stands in agree. Immediate where it stands in none.
[[nodiscard]] Communication communication_of(const TaskSet& tasks, std::string_view task);

/// The set's chains with what is promised to them, where `plan` has its cores, ranks and response bounds.
[[nodiscard]] std::vector<PlannedChain> planned_chains(const Plan& plan, const ResolvedSet& set);

} // namespace rtexec::policies
