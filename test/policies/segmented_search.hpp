// Searches for a job that ends after its bound under the rule `segmented`: random sets at the edge of what is proved,
// simulated with adversarial releases, lengths and victims.
#pragma once

#include "test/policies/segmented_device.hpp"

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace rtexec::test {

/// Bounds on the ends of jobs after their nominal releases, by task; empty: not proved.
using CutTest = std::function<std::vector<long long>(const CutSet&)>;

struct Attack {
  std::uint64_t jobs = 0, preemptions = 0, restores = 0, stalls = 0;
  bool exceeded = false; // a bound: then `what` says whose
  std::string what;
};

/// What takes long beside what.
enum class Shape { any, many_chunks, few_chunks, fixed_costs };

[[nodiscard]] CutSet random_cut_set(std::mt19937_64& random, Order order, Shape shape);

/// The set with shorter periods, deadlines with them, as far as `test` accepts it: all together, then by classes and
/// tasks; and in half of the cases with deadlines that are shorter yet. Empty: for no periods that are tried.
[[nodiscard]] CutSet at_the_edge(CutSet set, const CutTest& test, std::mt19937_64& random);

/// Ends when a bound is exceeded, or after about so many jobs.
[[nodiscard]] Attack attack(const CutSet& set, const std::vector<long long>& bounds, const RuleFaults& faults,
                            std::uint64_t jobs, std::mt19937_64& random);

} // namespace rtexec::test
