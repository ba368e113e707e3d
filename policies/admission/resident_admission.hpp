// Computes what admission would prove of a set with other execution times, for sets whose memory fits without swapping.
// The search for memory policies calls these functions many times. Pure; proofs: policies/proofs/memory-policies.md.
//
// The *slack* is the time that remains in the end-to-end test. A *split* divides the deadline of a job into a deadline
// for each of its parts (first CPU part, device part, last CPU part).
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

/// Computes whether make_plan() would prove the set, and with which slack. The class is much faster than make_plan(),
/// since it makes no plan and no text. It also computes bounds on the slack for ranges of execution times. Owns a copy
/// of the set.
///
/// A set can be proved by several *alternatives*, and the first alternative that succeeds determines the slack. An
/// alternative is an assignment of cores to the tasks that name none. The alternatives have the order in which
/// core_assignments() returns the assignments. This order depends on the CPU parts. So if CPU parts differ within the
/// range of execution times, the assignments may differ, too. Then a single alternative represents all assignments: in
/// it, each task has a core of its own. If the first assignment is equal for all times in the range, this assignment is
/// a separate alternative with number 0.
class ResidentAdmission {
 public:
  /// `times`: the range (shortest and longest times) that contains all execution times of later calls.
  ResidentAdmission(const ResolvedSet& set, const TimesBetween& times);

  /// Returns the end-to-end slack, or nullopt if the set is not proved or make_plan() refuses it. `wcets` must be
  /// parallel to the tasks.
  [[nodiscard]] std::optional<Nanos> slack(std::span<const Wcet> wcets);

  /// True if bound(), glance() and surely_proves() may be called. If slack() is monotone (shorter times never give less
  /// slack), the result is false, because these functions are not needed: slack() of the shortest times of a range is
  /// an upper bound for the range. Under SCHED_DEADLINE, and if priorities are searched, slack() is monotone in nearly
  /// all cases and is assumed to be so.
  [[nodiscard]] bool has_bounds() const;

  /// Returns the number of alternatives. Alternatives are numbered from 0.
  [[nodiscard]] std::size_t alternatives() const { return alternatives_.size(); }

  /// Returns an upper bound on the slack of alternative number `alternative` with any times in `times`. If the bound is
  /// less than `needed`, the function may return any value less than `needed`. Returns nullopt if the alternative
  /// proves the set for none of these times.
  ///
  /// glance() also returns an upper bound, and takes less time than bound(). glance() examines only the instants and
  /// responses that were tightest in earlier calls, so its bound may be larger than the bound of bound().
  [[nodiscard]] std::optional<Nanos> bound(std::size_t alternative, const TimesBetween& times, Nanos needed);
  [[nodiscard]] std::optional<Nanos> glance(std::size_t alternative, const TimesBetween& times, Nanos needed);

  /// True if alternative number `alternative` is known to prove the set with the times `longest`, and with all shorter
  /// times.
  [[nodiscard]] bool surely_proves(std::size_t alternative, std::span<const Wcet> longest);

 private:
  /// Bounds by one method of proof (PlacedBounds::By).
  struct Bounds {
    PlacedBounds::By by{};
    std::vector<Wcet> first{};            // the times for which `bounds` was constructed
    std::optional<PlacedBounds> bounds{}; // absent: make_plan() refuses these times
  };

  struct Alternative {
    std::optional<CoreAssignment> cores; // absent: the alternative represents all assignments
    Bounds most{};                       // upper bounds on the slack of the alternative
    /// Upper bounds on the slack for the first split that make_plan() tries; absent: under static priority, or if this
    /// split may differ within the range of times
    std::optional<Bounds> first_split{};
    /// The bounds for surely_proves(); absent: surely_proves() uses `first_split` or, if that is absent, `most`
    std::optional<Bounds> sure{};
  };

  void add_ways(const TimesBetween& times);
  void add_way(std::optional<CoreAssignment> cores, bool same_parts);
  [[nodiscard]] std::vector<CoreAssignment> assignments(std::span<const Wcet> wcets);
  [[nodiscard]] bool one_core_holds_all(const CoreAssignment& cores, std::span<const Wcet> longest);
  [[nodiscard]] bool take(std::span<const Wcet> wcets);
  [[nodiscard]] PlacedBounds* charged(const Alternative& alternative, Bounds& bounds, std::span<const Wcet> wcets);
  [[nodiscard]] NamedSet charged_set_of(const std::optional<CoreAssignment>& cores);
  template <class Ask>
  [[nodiscard]] std::optional<Nanos> asked(std::size_t alternative, const TimesBetween& times, Nanos needed,
                                           const Ask& ask);

  ResolvedSet set_;
  std::vector<std::size_t> urgency_;
  Plan plan_; // only the order and the cores are set
  bool all_alternatives_ =
      false; // true if each alternative is one assignment; false: one alternative represents all assignments
  std::vector<Alternative> alternatives_;
};

} // namespace rtexec::policies
