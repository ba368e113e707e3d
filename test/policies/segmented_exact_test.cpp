// Tests the rule `segmented` against the exact worst case of tiny sets: no schedule exceeds a bound. To try more sets:
// RTEXEC_SEGMENTED_SETS=20000 policies-tests --gtest_filter='*SegmentedExact*'; RTEXEC_SEGMENTED_SEED selects other
// sets.
#include "test/policies/reference_segmented.hpp"
#include "test/policies/segmented_exhaustive.hpp"
#include "test/support/rounds.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

namespace rtexec::test {
namespace {

std::uint64_t asked(const char* name, std::uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value ? std::strtoull(value, nullptr, 10) : otherwise;
}

constexpr std::size_t max_states = 20'000;

class SegmentedExactBounds : public testing::TestWithParam<Order> {};
INSTANTIATE_TEST_SUITE_P(Orders, SegmentedExactBounds, testing::Values(Order::edf, Order::static_priority),
                         [](const auto& order) { return order.param == Order::edf ? "edf" : "static_priority"; });

TEST_P(SegmentedExactBounds, CoverEverySchedule) {
  const std::uint64_t wanted = asked("RTEXEC_SEGMENTED_SETS", rtexec::test::rounds<std::uint64_t>(150));
  std::mt19937_64 random(asked("RTEXEC_SEGMENTED_SEED", 71));
  std::uint64_t sets = 0, undecided = 0, states = 0, reached = 0, bounds_in_all = 0;
  while (sets < wanted) {
    const auto set = random_tiny_cut_set(random, GetParam(), bounds_of);
    if (!set) continue;
    const std::vector<long long> bounds = bounds_of(*set);
    const CutExploration found = explore(*set, bounds, {}, max_states);
    ASSERT_FALSE(found.exceeded) << described(*set);
    if (!found.complete) {
      ++undecided;
      continue;
    }
    ++sets;
    states += found.states;
    bounds_in_all += bounds.size();
    for (std::size_t i = 0; i < bounds.size(); ++i) reached += found.worst[i] == bounds[i];
  }
  std::printf("%llu sets (%llu undecided), %llu states, %llu of %llu bounds reached\n",
              static_cast<unsigned long long>(sets), static_cast<unsigned long long>(undecided),
              static_cast<unsigned long long>(states), static_cast<unsigned long long>(reached),
              static_cast<unsigned long long>(bounds_in_all));
  EXPECT_GT(reached, sets / 4);
}

struct Error {
  const char* name;
  Order order{};
  SegmentedFaults test{};
  RuleFaults rule{};
};
constexpr Order edf = Order::edf, fixed = Order::static_priority;

class SegmentedExactBoundsWithFault : public testing::TestWithParam<Error> {};
INSTANTIATE_TEST_SUITE_P(
    Tests, SegmentedExactBoundsWithFault,
    testing::Values(
        Error{"top_class_below", edf, {.top_class_below = true}},
        Error{"top_class_later", edf, {.top_class_later = true}}, Error{"launch_ahead", edf, {.launch_ahead = true}},
        Error{"level_below", edf, {.level_below = true}}, Error{"above_due", edf, {.above_due = true}},
        Error{"above_jitter", fixed, {.above_jitter = true}}, Error{"top_class_above", edf, {.top_class_above = true}},
        Error{"delay", edf, {.delay = true}}, Error{"staged_load", edf, {.staged_load = true}},
        Error{"running_job", edf, {.running_job = true}}, Error{"pairing", edf, {.pairing = true}},
        Error{"closed", fixed, {.closed = true}}, Error{"loads_go_on", edf, {}, {.loads_go_on = true}},
        Error{"whole_jobs", edf, {}, {.whole_jobs = true}}, Error{"commits_always", edf, {}, {.commits_always = true}}),
    [](const auto& error) { return std::string(error.param.name); });

TEST_P(SegmentedExactBoundsWithFault, AreExceededBySomeSchedule) {
  const CutTest broken = [](const CutSet& set) {
    return reference_segmented(set, GetParam().test).value_or(std::vector<long long>{});
  };
  std::mt19937_64 random(72);
  for (int sets = 0; sets < 500;) {
    const auto set = random_tiny_cut_set(random, GetParam().order, broken);
    if (!set) continue;
    ++sets;
    if (explore(*set, broken(*set), GetParam().rule, max_states).exceeded) { return; }
  }
  FAIL() << "not seen";
}

} // namespace
} // namespace rtexec::test
