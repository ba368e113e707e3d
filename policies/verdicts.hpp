// The admission tests as verdicts: each with its inequality, numbers, limiting task and an explanation for people.
#pragma once

#include <rtexec/plan.hpp>
#include "policies/end_to_end.hpp"
#include "policies/reservations.hpp"
#include "policies/swap_charges.hpp"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rtexec::policies {

/// Exact, and all in one unit, so that the sides of an inequality compare at a glance: "66.404518ms".
[[nodiscard]] std::string in_ms(Nanos value);

/// Why no test of the device covers a set: `left` exceeds `right`.
struct Obstacle {
  std::string inequality;
  std::string task; // empty: it is no task's
  Nanos left = 0;
  Nanos right = 0;
  std::string explanation;
};

/// The set as the analysis sees it, with names for people. Parallel: names[i] is set.tasks[i].
struct NamedSet {
  StagedSet set;
  std::vector<std::string> names;
  /// The best-effort task with the longest device part; empty: none, or it is not that alone
  std::string background;
  std::optional<unsigned> compute_core;      // that executes device parts
  std::optional<SwapRule> rule;              // absent: nothing is swapped
  std::string swapping;                      // what is swapped, to be added to an explanation
  std::map<unsigned, std::string> regulated; // by core: its budget, to be added to an explanation
  std::optional<Obstacle> obstacle;
};

/// Whether an obstacle, or too much work for the device, refuses the set without any test.
[[nodiscard]] bool hopeless(const NamedSet& named);

[[nodiscard]] TestVerdict demand_verdict(const NamedSet& named, const EdfBounds& bounds);
[[nodiscard]] TestVerdict response_verdict(const NamedSet& named);
/// One per core that has tasks, by core number.
[[nodiscard]] std::vector<TestVerdict> core_verdicts(const NamedSet& named);
[[nodiscard]] TestVerdict end_to_end_verdict(const NamedSet& named, const EdfBounds& bounds);
[[nodiscard]] TestVerdict end_to_end_verdict(const NamedSet& named, std::span<const StageBounds> bounds);

/// The same two for reservations.
[[nodiscard]] std::vector<TestVerdict> core_verdicts(const NamedSet& named, const ServiceThread& service);
[[nodiscard]] TestVerdict end_to_end_verdict(const NamedSet& named, const ServiceThread& service,
                                             const Reserved<EdfBounds>& reserved);
[[nodiscard]] TestVerdict end_to_end_verdict(const NamedSet& named, const ServiceThread& service,
                                             const Reserved<std::vector<StageBounds>>& reserved);

} // namespace rtexec::policies
