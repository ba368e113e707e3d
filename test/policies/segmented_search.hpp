// Searches for a job that ends after its bound under the rule `segmented`. It simulates random sets at the edge of what
// is proved, with adversarial releases, lengths and victims.
#pragma once

#include "test/policies/segmented_device.hpp"

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace rtexec::test {

/// A test that returns bounds on the ends of jobs after their nominal releases, by task, or an empty list if they are
/// not proved.
using CutTest = std::function<std::vector<long long>(const CutSet&)>;

struct Attack {
  std::uint64_t jobs = 0, preemptions = 0, restores = 0, stalls = 0;
  bool exceeded = false; // a bound is exceeded, and `what` names it
  std::string what;
};

/// The kind of cost that dominates a random set.
enum class Shape { any, many_chunks, few_chunks, fixed_costs };

[[nodiscard]] CutSet random_cut_set(std::mt19937_64& random, Order order, Shape shape);

/// Shortens periods, with deadlines, as far as `test` accepts: all together, then by classes and tasks. In half of the
/// cases it shortens deadlines further. Returns an empty set if `test` accepts no tried periods.
[[nodiscard]] CutSet at_the_edge(CutSet set, const CutTest& test, std::mt19937_64& random);

/// Attacks the bounds until one is exceeded, or for about `jobs` jobs.
[[nodiscard]] Attack attack(const CutSet& set, const std::vector<long long>& bounds, const RuleFaults& faults,
                            std::uint64_t jobs, std::mt19937_64& random);

} // namespace rtexec::test
