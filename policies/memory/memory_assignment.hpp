// Chooses the memory policy of each task: D (device memory), M (managed memory) or H (pinned host memory). There are
// two methods. The guidelines of Bateni et al. (RTAS 2020, section IV-B) compare overheads. The exact choice finds the
// least memory with which a set is admitted, or the most slack within a memory size. A *combination* has one option (a
// policy with its times and memory) for each task. The functions have no side effects except that they allocate memory.
// The functions use plain values only; memory_policies.hpp applies the functions to task sets.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/choices.hpp>
#include <rtexec/units.hpp>
#include "policies/exact_arithmetic.hpp"
#include "policies/memory/memory_model.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace rtexec::policies {

// ---- the guidelines ----

/// The overheads of a task under the three policies. A value is absent if the board lacks the policy, or if the
/// overhead is not known for the task.
struct GuidelineTask {
  MemoryOverhead device;
  std::optional<MemoryOverhead> managed;
  std::optional<MemoryOverhead> host;
  std::uint64_t kernels = 1; // the number of kernels that a job launches
  Bytes saved{0};            // memory saved by M or H compared with D
};

/// Returns the policy by guideline 1. M is eligible if Eq. (9) is met: O_M - O_D <= I - Ca_cpu - Ca_gpu. H is eligible
/// if Eq. (10) is met: O_H - O_D <= I - Tc. O_D, O_M and O_H are MemoryOverhead::all() under each policy. I, Ca_cpu,
/// Ca_gpu and Tc are `mapping`, `host_flush`, `device_flush` and `uncached`, each for the whole job. If both policies
/// are eligible, returns the policy with less overhead, or M if the overheads are equal. If neither policy is eligible,
/// returns D.
[[nodiscard]] MemoryPolicy guideline_policy(const GuidelineTask& task);

/// Returns the policies by guidelines 1 and 2. All tasks begin under policy D. The tasks for which guideline 1 returns
/// M or H are tried in this order: the most memory saved first, then the least overhead added, then the order of the
/// set. A task is converted if Eq. (11) is still met afterwards: sum of N_M + N_H <= sum of N_D. N_M, N_H and N_D are
/// the numbers of kernels launched under each policy. Otherwise the task stays under policy D.
[[nodiscard]] std::vector<MemoryPolicy> guideline_policies(std::span<const GuidelineTask> tasks);

// ---- the exact choice ----

/// One placement of a task's memory, and the execution times that were measured with it.
struct MemoryOption {
  MemoryPolicy policy = MemoryPolicy::device;
  Bytes device{0}; // device memory that only this task uses
  Bytes shared{0}; // device memory (scratch) that all tasks use in turn, so that only the largest amount counts
  Bytes host{0};   // host memory
  Wcet wcet;
};

/// The options of each task. `unified`: device and host share one memory, and only their sum is minimised. Otherwise
/// device memory is minimised, and host memory decides between choices with equal device memory.
struct MemoryProblem {
  std::vector<std::vector<MemoryOption>> options; // by task
  bool unified = false;
  Bytes capacity{unlimited}; // the capacity of the device or, with unified memory, of all memory
  static constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();
};

struct MemoryChoice {
  std::vector<std::size_t> options; // by task: the index of the chosen option
  Bytes device{0};
  Bytes host{0};
  Nanos slack = 0;           // set by max_slack()
  std::size_t questions = 0; // the number of calls of the admission test
  bool exact = true; // false: `max_questions` calls were not enough, and the result is the best choice that was found
};

/// The maximum number of calls of the admission test. This number suffices to examine every combination of eight tasks
/// with three options each, and all partial combinations.
inline constexpr std::size_t max_questions = 1 << 16;

/// Returns the slack for these execution times, one for each task. Returns nullopt if the times are not admitted.
using SlackOf = std::function<std::optional<Nanos>(std::span<const Wcet>)>;

/// shorter() returns the shorter time of each part, longer() the longer time of each part.
[[nodiscard]] inline Wcet shorter(const Wcet& a, const Wcet& b) {
  return {std::min(a.before, b.before), std::min(a.device, b.device), std::min(a.after, b.after)};
}
[[nodiscard]] inline Wcet longer(const Wcet& a, const Wcet& b) {
  return {std::max(a.before, b.before), std::max(a.device, b.device), std::max(a.after, b.after)};
}

/// A range of execution times for each task, from `shortest` to `longest`. A bound of Admission is valid for all times
/// in the range.
struct TimesBetween {
  std::span<const Wcet> shortest, longest;
};

/// The admission test that a search calls. The test depends only on execution times, not on memory. It must also be
/// defined for times that no combination of options has.
///
/// A set may be provable by several *alternatives*, such as different assignments of cores. Alternatives are tried in
/// order, and the first alternative that succeeds determines the slack of a combination. The functions:
/// - `slack(times)` returns the slack for these times, or nullopt if they are not admitted.
/// - `bound(alternative, times, needed)` returns an upper bound on the slack of this alternative with any times in the
///   range `times`. If this bound is less than `needed`, the function may return any value less than `needed`. The
///   function returns nullopt if the alternative admits no times in the range.
/// - `glance(alternative, times, needed)` also returns an upper bound on this slack. The function takes less time than
///   `bound`, but its result may be larger.
/// - `surely(alternative, longest)` returns true if this alternative is known to admit the times `longest` and all
///   shorter times.
///
/// If `bound` is empty, there is only one alternative, and `slack` of the shortest times of a range is used as the
/// bound. Then `slack` must be monotone: shorter times never give less slack. The bounds of admission tests:
/// proofs/memory-policies.md.
struct Admission {
  using BoundOf = std::function<std::optional<Nanos>(std::size_t alternative, const TimesBetween& times, Nanos needed)>;
  SlackOf slack;
  std::size_t alternatives = 1; // at most `max_alternatives`
  BoundOf bound{}, glance{};
  std::function<bool(std::size_t alternative, std::span<const Wcet> longest)> surely{};
};

inline constexpr std::size_t max_alternatives = 32;

/// Returns the combination with the least memory among the combinations that fit into the memory and are admitted, by
/// branch and bound.
///
/// An option is left out if another option of its task has equal times and takes no more memory. If `slack` is
/// monotone, an option is also left out if another option has no longer times and takes no more memory. Of options with
/// equal times and memory, the first option is kept.
///
/// If several combinations take the least memory, the result is the combination that is found first. The task whose
/// options differ most in memory chooses first (among equal tasks, the first task of the set). This task tries the
/// option with the least memory first (among equal options, the first option). An option is tried last if another
/// option of the task needs no more memory and no more time.
///
/// Returns bad_input if a task has no options, and not_proved if no combination fits and is admitted.
[[nodiscard]] Result<MemoryChoice> min_memory(const MemoryProblem& problem, const Admission& admission);

/// Returns the combination with the most slack among the combinations that fit into the memory and are admitted. Among
/// combinations with equal slack it returns the combination that min_memory() would return. Returns the same errors as
/// min_memory().
[[nodiscard]] Result<MemoryChoice> max_slack(const MemoryProblem& problem, const Admission& admission);

} // namespace rtexec::policies
