// Computes what admission proves of one set with other execution times, if all memory fits. The choice of memory
// policies needs this often. Pure; proofs: policies/proofs/memory-policies.md.
#pragma once

#include <rtexec/plan.hpp>
#include <rtexec/resolved_set.hpp>
#include "policies/bounds/core_assignment.hpp"
#include "policies/memory/memory_assignment.hpp"
#include "policies/bounds/placed_bounds.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace rtexec::policies {

/// Computes the verdict and the slack of make_plan in a fraction of the time, since it makes neither plan nor words.
/// Also bounds the slack with other execution times. Owns a copy of the set.
///
/// The ways to prove a set are the assignments of cores to tasks that name none; the first that succeeds decides. They
/// follow from the CPU parts. If these differ between questions, there is one way for any cores, as if each task had a
/// core of its own. Before it comes the first assignment, if that is the same for all questions.
class ResidentAdmission {
 public:
  /// `times`: the range of all questions.
  ResidentAdmission(const ResolvedSet& set, const TimesBetween& times);

  /// Returns the slack end to end, or nullopt if the set is not proved or make_plan refuses it. `wcets` is parallel to
  /// its tasks.
  [[nodiscard]] std::optional<Nanos> slack(std::span<const Wcet> wcets);

  /// True if there are bounds and ways besides slack(). There are none if slack() is no less with shorter times, and so
  /// is its own bound. There are none either if that holds only nearly always: under SCHED_DEADLINE, and if priorities
  /// are searched.
  [[nodiscard]] bool has_bounds() const;

  [[nodiscard]] std::size_t ways() const { return ways_.size(); }

  /// Returns at least the slack that this way has with any times in the range. If that slack is less than `needed`, it
  /// may return any value less than `needed`. Returns nullopt if the way proves none of these times. glance() does the
  /// same quickly, from what was tightest before.
  [[nodiscard]] std::optional<Nanos> bound(std::size_t way, const TimesBetween& times, Nanos needed);
  [[nodiscard]] std::optional<Nanos> glance(std::size_t way, const TimesBetween& times, Nanos needed);

  /// True if this way is known to prove the set with these times and with any that are no longer.
  [[nodiscard]] bool surely_proves(std::size_t way, std::span<const Wcet> longest);

 private:
  /// Bounds by one kind of proof.
  struct Bounds {
    PlacedBounds::By by{};
    std::vector<Wcet> first{};            // the times with which `bounds` began
    std::optional<PlacedBounds> bounds{}; // absent: make_plan refuses these times
  };

  struct Way {
    std::optional<CoreAssignment> cores; // absent: any cores
    Bounds most{};                       // what it proves at most
    std::optional<Bounds> first_split{}; // the same for the first split, if that may decide
    std::optional<Bounds> sure{};        // what it proves for certain; absent: use `first_split`, or else `most`
  };

  void add_ways(const TimesBetween& times);
  void add_way(std::optional<CoreAssignment> cores, bool same_parts);
  [[nodiscard]] std::vector<CoreAssignment> assignments(std::span<const Wcet> wcets);
  [[nodiscard]] bool one_core_holds_all(const CoreAssignment& cores, std::span<const Wcet> longest);
  [[nodiscard]] bool take(std::span<const Wcet> wcets);
  [[nodiscard]] PlacedBounds* charged(const Way& way, Bounds& bounds, std::span<const Wcet> wcets);
  [[nodiscard]] NamedSet charged_set_of(const std::optional<CoreAssignment>& cores);
  template <class Ask>
  [[nodiscard]] std::optional<Nanos> asked(std::size_t way, const TimesBetween& times, Nanos needed, const Ask& ask);

  ResolvedSet set_;
  std::vector<std::size_t> urgency_;
  Plan plan_;             // only order and cores are set
  bool all_ways_ = false; // each way is an assignment
  std::vector<Way> ways_;
};

} // namespace rtexec::policies
