// Finds the exact worst case of a tiny set under the rule `segmented`. It visits every state that a CutDevice can
// reach: every sporadic release, every victim, every order of simultaneous events. Time is integer, and nothing ends
// early.
#pragma once

#include "test/policies/segmented_search.hpp"

#include <cstddef>
#include <optional>
#include <random>
#include <vector>

namespace rtexec::test {

struct CutExploration {
  /// The worst ends of jobs after their nominal releases. Once one exceeds its bound, the others are lower estimates.
  std::vector<long long> worst;
  bool exceeded = false;
  std::size_t states = 0;
  bool complete = false; // false: there were more than max_states states
};

/// Explores from frames filled in every order of the tasks. Stops if a bound is exceeded.
[[nodiscard]] CutExploration explore(const CutSet& set, const std::vector<long long>& bounds, const RuleFaults& faults,
                                     std::size_t max_states);

/// Draws a set that `test` just accepts. Returns nullopt if it accepts none with tiny periods.
[[nodiscard]] std::optional<CutSet> random_tiny_cut_set(std::mt19937_64& random, Order order, const CutTest& test);

} // namespace rtexec::test
