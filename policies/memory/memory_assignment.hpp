// Which memory policy each task gets. First by the guidelines of Bateni et al. (RTAS 2020, section IV-B), which weigh
// overheads; then exactly: the least memory with which a set is admitted, and the most slack within a memory. Pure;
// allocates; plain values without owners. What ties it to a task set is memory_policies.hpp.
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

/// A task under the three policies. Absent: the board lacks the policy, or nothing is known of the task under it.
struct GuidelineTask {
  MemoryOverhead device;
  std::optional<MemoryOverhead> managed;
  std::optional<MemoryOverhead> host;
  std::uint64_t kernels = 1; // that a job launches
  Bytes saved{0};            // memory, by M or H in place of D
};

/// Guideline 1. M is eligible by Eq. (9), O_M - O_D <= I - Ca_cpu - Ca_gpu, H by Eq. (10), O_H - O_D <= I - Tc, each
/// with the parts of the whole job. Of both the one of less overhead, M where they are equal; of neither D.
[[nodiscard]] MemoryPolicy guideline_policy(const GuidelineTask& task);

/// Guidelines 1 and 2. All tasks begin under D. Those that guideline 1 converts are taken in this order: the most
/// memory saved first, then the least overhead added, then the first of the set. Each is converted unless Eq. (11),
/// sum of N_M + N_H <= sum of N_D, would fail: then it stays under D, and the next one is tried.
[[nodiscard]] std::vector<MemoryPolicy> guideline_policies(std::span<const GuidelineTask> tasks);

// ---- the exact choice ----

/// One way to hold a task's memory, and the execution times that were measured with it.
struct MemoryOption {
  MemoryPolicy policy = MemoryPolicy::device;
  Bytes device{0}; // that it alone takes on the device,
  Bytes shared{0}; // there likewise, but in turn with the other tasks: the largest counts (scratch),
  Bytes host{0};   // and of the host
  Wcet wcet;
};

/// `unified`: the host's memory is the device's, and counts like it. Otherwise less of the device's is less, and the
/// host's decides between equals.
struct MemoryProblem {
  std::vector<std::vector<MemoryOption>> options; // of each task
  bool unified = false;
  Bytes capacity{unlimited}; // of the device, or of all where it is unified
  static constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();
};

struct MemoryChoice {
  std::vector<std::size_t> options; // by task
  Bytes device{0};
  Bytes host{0};
  Nanos slack = 0;           // of max_slack
  std::size_t questions = 0; // put to the test
  bool exact = true;         // false: there were more than `max_questions`, and this is the best that they found
};

/// Enough for every combination of eight tasks with three options each, and of all that they begin with.
inline constexpr std::size_t max_questions = 1 << 16;

/// The slack with these execution times, one for each task; absent: they are not admitted.
using SlackOf = std::function<std::optional<Nanos>(std::span<const Wcet>)>;

/// The shorter one of each part, and the longer one.
[[nodiscard]] inline Wcet shorter(const Wcet& a, const Wcet& b) {
  return {std::min(a.before, b.before), std::min(a.device, b.device), std::min(a.after, b.after)};
}
[[nodiscard]] inline Wcet longer(const Wcet& a, const Wcet& b) {
  return {std::max(a.before, b.before), std::max(a.device, b.device), std::max(a.after, b.after)};
}

/// The times between these, of each task, of which something is asked.
struct TimesBetween {
  std::span<const Wcet> shortest, longest;
};

/// What is asked of combinations, of whose options memory is nothing to it, and of times that no combination has.
///
/// There may be several ways to admit one, of which the first that does decides its slack. `bound(way, times, needed)`
/// is no less than what this way comes to with any of these times, or is less than `needed` where that is; absent: it
/// admits none of them. `glance`: the same, perhaps larger, in less time. `surely(way, longest)`: this way is known to
/// admit these times and any that are no longer. Without bounds there is one way, and `slack` is its own bound: then it
/// must be monotone, no less with shorter times. Which bounds tests of admission have: proofs/memory-policies.md.
struct Admission {
  using BoundOf = std::function<std::optional<Nanos>(std::size_t way, const TimesBetween& times, Nanos needed)>;
  SlackOf slack;
  std::size_t ways = 1; // at most `max_ways`
  BoundOf bound{}, glance{};
  std::function<bool(std::size_t way, std::span<const Wcet> longest)> surely{};
};

inline constexpr std::size_t max_ways = 32;

/// The least memory of all combinations that fit and are admitted, by branch and bound.
///
/// An option is not considered where another of its task takes no more memory and just the same times, or, where
/// `slack` is monotone, no more of anything; of equal ones the first is. Of combinations that take the same memory, the
/// task whose options differ most in memory chooses first (of equal ones the first of the set), and takes the option of
/// the least memory (of equal ones the first), but last those for which another takes no more of anything.
///
/// bad_input: a task without options. not_proved: no combination fits and is admitted.
[[nodiscard]] Result<MemoryChoice> min_memory(const MemoryProblem& problem, const Admission& admission);

/// The most slack of all combinations that fit and are admitted. Of equal ones that of the least memory, as above.
[[nodiscard]] Result<MemoryChoice> max_slack(const MemoryProblem& problem, const Admission& admission);

} // namespace rtexec::policies
