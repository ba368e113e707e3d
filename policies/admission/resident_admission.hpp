// What admission proves of one set with other execution times, where all memory fits: asked often, for the choice of
// memory policies. Pure; proofs: policies/proofs/memory-policies.md.
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

/// The same verdict and the same slack as make_plan's, in a fraction of the time, since it makes neither plan nor
/// words; and bounds on what other execution times come to. Owns a copy of the set.
///
/// There are a few ways to prove a set, of which the first that does decides: the assignments of cores to tasks that
/// name none. They follow from the CPU parts. Where these are not the same in all questions the ways are one, whatever
/// the cores are, as if each task had one of its own; and before it the first assignment, if it is the same for all.
class ResidentAdmission {
 public:
  /// `times`: of all questions.
  ResidentAdmission(const ResolvedSet& set, const TimesBetween& times);

  /// The slack end to end. Absent: not proved, or make_plan refuses the set. `wcets` is parallel to its tasks.
  [[nodiscard]] std::optional<Nanos> slack(std::span<const Wcet> wcets);

  /// Whether there are bounds and ways beside slack(). There are none where slack() is no less with shorter times, so
  /// that it is its own bound, and none where that only holds nearly always: under SCHED_DEADLINE, and where priorities
  /// are searched.
  [[nodiscard]] bool has_bounds() const;

  [[nodiscard]] std::size_t ways() const { return ways_.size(); }

  /// No less than the slack that this way comes to with any times between these, or less than `needed` where that is;
  /// absent: it proves none of them. `glance`: the same at once, by what was tightest before.
  [[nodiscard]] std::optional<Nanos> bound(std::size_t way, const TimesBetween& times, Nanos needed);
  [[nodiscard]] std::optional<Nanos> glance(std::size_t way, const TimesBetween& times, Nanos needed);

  /// Whether this way is known to prove the set with these times and with any that are no longer.
  [[nodiscard]] bool surely_proves(std::size_t way, std::span<const Wcet> longest);

 private:
  /// Bounds with one kind of proof.
  struct Bounds {
    PlacedBounds::By by{};
    std::vector<Wcet> first{};            // times that `bounds` began with
    std::optional<PlacedBounds> bounds{}; // absent: make_plan refuses these
  };

  struct Way {
    std::optional<CoreAssignment> cores; // absent: any
    Bounds most{};                       // for what it proves at most,
    std::optional<Bounds> first_split{}; // if this split does not prove it,
    std::optional<Bounds> sure{};        // and for what it proves for certain; absent: by `first_split`, or by `most`
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
  Plan plan_;             // with no more than order and cores
  bool all_ways_ = false; // each is an assignment
  std::vector<Way> ways_;
};

} // namespace rtexec::policies
