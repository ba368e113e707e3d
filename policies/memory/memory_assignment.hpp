// Chooses the memory policy of each task: D (device memory), M (managed memory) or H (pinned host memory). There are
// two methods. The guidelines of Bateni et al. (RTAS 2020, section IV-B) compare overheads. The exact choice finds the
// least memory with which a set is admitted, or the most slack within a memory size. The functions have no side effects
// but allocate memory, and work on plain values. memory_policies.hpp applies them to task sets.
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

/// The overheads of a task under the three policies. A value is absent if the board lacks the policy, or if it is not
/// known for the task.
struct GuidelineTask {
  MemoryOverhead device;
  std::optional<MemoryOverhead> managed;
  std::optional<MemoryOverhead> host;
  std::uint64_t kernels = 1; // launched by a job
  Bytes saved{0};            // memory saved by M or H compared with D
};

/// Returns the policy by guideline 1. M is eligible if Eq. (9) holds: O_M - O_D <= I - Ca_cpu - Ca_gpu. H is eligible
/// if Eq. (10) holds: O_H - O_D <= I - Tc. O_D, O_M and O_H are MemoryOverhead::all() under each policy; I, Ca_cpu,
/// Ca_gpu and Tc are `mapping`, `host_flush`, `device_flush` and `uncached`, each of the whole job. If both are
/// eligible, returns the one with less overhead, or M if they are equal. If neither is, returns D.
[[nodiscard]] MemoryPolicy guideline_policy(const GuidelineTask& task);

/// Returns the policies by guidelines 1 and 2. All tasks begin under D. The tasks that guideline 1 would convert are
/// tried in this order: the most memory saved first, then the least overhead added, then the order of the set. A task
/// is converted unless Eq. (11) would fail: sum of N_M + N_H <= sum of N_D, the numbers of kernels launched under each
/// policy. If it would fail, the task stays under D, and the next one is tried.
[[nodiscard]] std::vector<MemoryPolicy> guideline_policies(std::span<const GuidelineTask> tasks);

// ---- the exact choice ----

/// One placement of a task's memory, and the execution times that were measured with it.
struct MemoryOption {
  MemoryPolicy policy = MemoryPolicy::device;
  Bytes device{0}; // device memory that the task alone takes
  Bytes shared{0}; // device memory (scratch) that all tasks use in turn, so that only the largest amount counts
  Bytes host{0};   // host memory
  Wcet wcet;
};

/// The options of each task. `unified`: device and host share one memory, so that both kinds count alike. Otherwise
/// device memory is minimised, and host memory decides between equals.
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
  std::size_t questions = 0; // the number of calls of the admission test
  bool exact = true;         // false: `max_questions` calls were too few, and this is the best choice found
};

/// The maximum number of calls of the admission test. It is enough for every combination of eight tasks with three
/// options each, and for all their partial combinations.
inline constexpr std::size_t max_questions = 1 << 16;

/// Returns the slack with these execution times, one for each task; nullopt: they are not admitted.
using SlackOf = std::function<std::optional<Nanos>(std::span<const Wcet>)>;

/// shorter() returns the shorter time of each part, longer() the longer one.
[[nodiscard]] inline Wcet shorter(const Wcet& a, const Wcet& b) {
  return {std::min(a.before, b.before), std::min(a.device, b.device), std::min(a.after, b.after)};
}
[[nodiscard]] inline Wcet longer(const Wcet& a, const Wcet& b) {
  return {std::max(a.before, b.before), std::max(a.device, b.device), std::max(a.after, b.after)};
}

/// A range of execution times for each task, from `shortest` to `longest`. The bounds of Admission hold for all times
/// in it.
struct TimesBetween {
  std::span<const Wcet> shortest, longest;
};

/// The admission test that a search calls. It sees only the execution times of combinations, not their memory. It may
/// be called with times that no combination has.
///
/// A set may be provable in several *ways*, such as different assignments of cores. They are tried in order, and the
/// first one that succeeds decides the slack of a combination. The functions:
/// - `bound(way, times, needed)` returns an upper bound on the slack that this way has with any of these times. If the
///   slack is less than `needed`, it may return any value less than `needed`. It returns nullopt if the way admits none
///   of the times.
/// - `glance` does the same in less time; its result may be larger.
/// - `surely(way, longest)` returns true if this way is known to admit these times and any that are no longer.
///
/// Without `bound` there is one way, and `slack` is its own bound. Then `slack` must be monotone: it never decreases
/// with shorter times. The bounds of admission tests: proofs/memory-policies.md.
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
/// An option is left out if another option of its task takes no more memory and has the same times. If `slack` is
/// monotone, it is left out if another one takes no more memory and has no longer times. Of equal options the first one
/// stays.
///
/// If several combinations take the same least memory, the result is the first one found. The task whose options differ
/// most in memory chooses first (of equal ones, the first of the set). It tries the option with the least memory first
/// (of equal ones, the first). Options for which another one takes no more of anything come last.
///
/// Returns bad_input if a task has no options, and not_proved if no combination fits and is admitted.
[[nodiscard]] Result<MemoryChoice> min_memory(const MemoryProblem& problem, const Admission& admission);

/// Returns the combination with the most slack among those that fit and are admitted. Of those with equal slack it is
/// the one that min_memory() would return. Returns the same errors.
[[nodiscard]] Result<MemoryChoice> max_slack(const MemoryProblem& problem, const Admission& admission);

} // namespace rtexec::policies
