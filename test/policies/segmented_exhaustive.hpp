// The exact worst case of a tiny set under the rule `segmented`, by visiting every state that a CutDevice can reach:
// every sporadic release, every victim, every order of what happens at one instant. Integer time, nothing ends early.
#pragma once

#include "test/policies/segmented_search.hpp"

#include <cstddef>
#include <optional>
#include <random>
#include <vector>

namespace rtexec::test {

struct CutExploration {
  /// Ends of jobs after their nominal releases; once one exceeds its bound the others are lower estimates
  std::vector<long long> worst;
  bool exceeded = false;
  std::size_t states = 0;
  bool complete = false; // false: there are more states than were allowed
};

/// Begins with frames filled in every order of the tasks; ends where a bound is exceeded.
[[nodiscard]] CutExploration explore(const CutSet& set, const std::vector<long long>& bounds, const RuleFaults& faults,
                                     std::size_t max_states);

/// A set that `test` just accepts. Nothing: not with periods that are tiny.
[[nodiscard]] std::optional<CutSet> random_tiny_cut_set(std::mt19937_64& random, Order order, const CutTest& test);

} // namespace rtexec::test
