// Computes what admission proves of a set with other execution times, if all its memory fits. The choice of memory
// policies calls it many times. Pure; proofs: policies/proofs/memory-policies.md.
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

/// Computes whether make_plan() proves the set, and with which slack, in a fraction of its time: it makes no plan and
/// no text. Also bounds the slack over ranges of execution times. Owns a copy of the set.
///
/// A set can be proved in several *ways*, and the first way that succeeds decides the slack. Each way is one assignment
/// of cores to the tasks that name none, in the order of core_assignments(), which depends on the CPU parts. If CPU
/// parts differ within the range of execution times, so may the assignments. Then one way stands for all assignments:
/// each task has a core of its own. Before it comes the first assignment, if that is the same for the whole range.
class ResidentAdmission {
 public:
  /// `times`: the range of all execution times that are ever asked about.
  ResidentAdmission(const ResolvedSet& set, const TimesBetween& times);

  /// Returns the end-to-end slack, or nullopt if the set is not proved or make_plan() refuses it. `wcets` is parallel
  /// to the tasks.
  [[nodiscard]] std::optional<Nanos> slack(std::span<const Wcet> wcets);

  /// True if bound(), glance() and surely_proves() are available. They are not if slack() never decreases with shorter
  /// times, so that it bounds itself. Under SCHED_DEADLINE, and if priorities are searched, that holds in nearly all
  /// cases and is assumed.
  [[nodiscard]] bool has_bounds() const;

  /// Returns the number of ways; a way is an index below it.
  [[nodiscard]] std::size_t ways() const { return ways_.size(); }

  /// Returns an upper bound on the slack by this way with any times in the range. If the slack is less than `needed`,
  /// it may return any value less than `needed`. Returns nullopt if the way proves none of these times. glance() does
  /// the same faster, from the instants and responses that were tightest before; its bound may be larger.
  [[nodiscard]] std::optional<Nanos> bound(std::size_t way, const TimesBetween& times, Nanos needed);
  [[nodiscard]] std::optional<Nanos> glance(std::size_t way, const TimesBetween& times, Nanos needed);

  /// True if this way is known to prove the set with these times, and with all times that do not exceed them.
  [[nodiscard]] bool surely_proves(std::size_t way, std::span<const Wcet> longest);

 private:
  /// Bounds by one kind of proof.
  struct Bounds {
    PlacedBounds::By by{};
    std::vector<Wcet> first{};            // the times for which `bounds` was constructed
    std::optional<PlacedBounds> bounds{}; // absent: make_plan refuses these times
  };

  struct Way {
    std::optional<CoreAssignment> cores; // absent: any cores
    Bounds most{};                       // upper bounds on its slack
    std::optional<Bounds> first_split{}; // the same for the first split of deadlines, if that may decide
    std::optional<Bounds> sure{};        // for surely_proves(); absent: `first_split` serves, or else `most`
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
  bool all_ways_ = false; // each way is one assignment; false: one way stands for all
  std::vector<Way> ways_;
};

} // namespace rtexec::policies
