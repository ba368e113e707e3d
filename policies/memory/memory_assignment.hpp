// Chooses the memory policy of each task. First by the guidelines of Bateni et al. (RTAS 2020, section IV-B), which
// weigh overheads; then exactly: the least memory with which a set is admitted, and the most slack within a memory
// size. Pure; allocates; plain values without owners. memory_policies.hpp connects it to task sets.
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

/// A task under the three policies. A value is absent if the board lacks the policy, or if nothing is known of the task
/// under it.
struct GuidelineTask {
  MemoryOverhead device;
  std::optional<MemoryOverhead> managed;
  std::optional<MemoryOverhead> host;
  std::uint64_t kernels = 1; // launched by a job
  Bytes saved{0};            // memory saved by M or H in place of D
};

/// Returns the policy by guideline 1. M is eligible by Eq. (9), O_M - O_D <= I - Ca_cpu - Ca_gpu, H by Eq. (10), O_H -
/// O_D <= I - Tc, each with the parts of the whole job. If both are eligible, it is the one with less overhead, or M if
/// they are equal; if neither is, D.
[[nodiscard]] MemoryPolicy guideline_policy(const GuidelineTask& task);

/// Returns the policies by guidelines 1 and 2. All tasks begin under D. The tasks that guideline 1 converts are taken
/// in this order: the most memory saved first, then the least overhead added, then the first of the set. Each is
/// converted unless Eq. (11), sum of N_M + N_H <= sum of N_D, would fail. Then it stays under D, and the next one is
/// tried.
[[nodiscard]] std::vector<MemoryPolicy> guideline_policies(std::span<const GuidelineTask> tasks);

// ---- the exact choice ----

/// One way to hold a task's memory, and the execution times that were measured with it.
struct MemoryOption {
  MemoryPolicy policy = MemoryPolicy::device;
  Bytes device{0}; // device memory that the task alone takes
  Bytes shared{0}; // device memory that it uses in turn with the other tasks: the largest counts (scratch)
  Bytes host{0};   // host memory
  Wcet wcet;
};

/// The options of each task. `unified`: the host's memory is the device's, and counts like it. Otherwise less device
/// memory is better, and host memory decides between equals.
struct MemoryProblem {
  std::vector<std::vector<MemoryOption>> options; // by task
  bool unified = false;
  Bytes capacity{unlimited}; // of the device, or of all memory if it is unified
  static constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();
};

struct MemoryChoice {
  std::vector<std::size_t> options; // by task
  Bytes device{0};
  Bytes host{0};
  Nanos slack = 0;           // set by max_slack()
  std::size_t questions = 0; // how many were put to the admission test
  bool exact = true;         // false: `max_questions` were too few, and this is the best choice that was found
};

/// Enough for every combination of eight tasks with three options each, and for all their partial combinations.
inline constexpr std::size_t max_questions = 1 << 16;

/// Returns the slack with these execution times, one for each task; nullopt: they are not admitted.
using SlackOf = std::function<std::optional<Nanos>(std::span<const Wcet>)>;

/// shorter() returns the shorter one of each part, longer() the longer one.
[[nodiscard]] inline Wcet shorter(const Wcet& a, const Wcet& b) {
  return {std::min(a.before, b.before), std::min(a.device, b.device), std::min(a.after, b.after)};
}
[[nodiscard]] inline Wcet longer(const Wcet& a, const Wcet& b) {
  return {std::max(a.before, b.before), std::max(a.device, b.device), std::max(a.after, b.after)};
}

/// A range of execution times of each task, from `shortest` to `longest`. A question is about all times in it.
struct TimesBetween {
  std::span<const Wcet> shortest, longest;
};

/// The admission test that a search asks. It sees only the execution times of combinations, not their memory, and may
/// be asked about times that no combination has.
///
/// There may be several ways to admit a combination, of which the first that succeeds decides its slack.
/// `bound(way, times, needed)` returns at least the slack that this way has with any of these times. If that slack is
/// less than `needed`, it may return any value less than `needed`. It returns nullopt if the way admits none of them.
/// `glance` does the same in less time; its result may be larger.
/// `surely(way, longest)` returns true if this way is known to admit these times and any that are no longer.
/// Without bounds there is one way, and `slack` is its own bound: then it must be monotone, no less with shorter times.
/// The bounds of admission tests: proofs/memory-policies.md.
struct Admission {
  using BoundOf = std::function<std::optional<Nanos>(std::size_t way, const TimesBetween& times, Nanos needed)>;
  SlackOf slack;
  std::size_t ways = 1; // at most `max_ways`
  BoundOf bound{}, glance{};
  std::function<bool(std::size_t way, std::span<const Wcet> longest)> surely{};
};

inline constexpr std::size_t max_ways = 32;

/// Returns the combination with the least memory among those that fit and are admitted, by branch and bound.
///
/// An option is not considered if another option of its task takes no more memory and has the same times. If `slack` is
/// monotone, it suffices that another takes no more of anything. Of equal options the first is considered.
/// If combinations take the same memory, the task whose options differ most in memory chooses first (of equal ones the
/// first of the set). It takes the option of the least memory (of equal ones the first). Options for which another
/// takes no more of anything come last.
///
/// Returns bad_input if a task has no options, and not_proved if no combination fits and is admitted.
[[nodiscard]] Result<MemoryChoice> min_memory(const MemoryProblem& problem, const Admission& admission);

/// Returns the combination with the most slack among those that fit and are admitted. Of equal ones it is the one with
/// the least memory, as above.
[[nodiscard]] Result<MemoryChoice> max_slack(const MemoryProblem& problem, const Admission& admission);

} // namespace rtexec::policies
