// Tests that no job under the rule `segmented` ends after its bound under any attack, and that the search detects
// deliberate errors of the tests and of the rule. To search longer: RTEXEC_SEGMENTED_SETS=100000 policies-tests
// --gtest_filter='*SegmentedSearch*'; RTEXEC_SEGMENTED_SEED selects other sets.
#include "test/policies/reference_segmented.hpp"
#include "test/policies/segmented_search.hpp"
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

struct Found {
  std::uint64_t sets = 0, exceeded = 0;
  Attack all;
};

constexpr std::uint64_t jobs_of_a_set = 500;

/// Searches until a bound is exceeded or `sets` sets were attacked.
Found search(const CutTest& test, const RuleFaults& faults, Order order, std::uint64_t sets, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Found found;
  while (found.sets < sets && !found.all.exceeded) {
    const CutSet set = at_the_edge(random_cut_set(random, order, static_cast<Shape>(found.sets % 4)), test, random);
    if (set.tasks.empty()) continue;
    ++found.sets;
    const Attack each = attack(set, test(set), faults, jobs_of_a_set, random);
    found.all.jobs += each.jobs;
    found.all.preemptions += each.preemptions;
    found.all.restores += each.restores;
    found.all.stalls += each.stalls;
    found.all.exceeded = each.exceeded;
    found.all.what = each.what;
  }
  return found;
}

class SegmentedSearch : public testing::TestWithParam<Order> {};
INSTANTIATE_TEST_SUITE_P(Orders, SegmentedSearch, testing::Values(Order::edf, Order::static_priority),
                         [](const auto& order) { return order.param == Order::edf ? "edf" : "static_priority"; });

TEST_P(SegmentedSearch, FindsNoResponseBeyondItsBound) {
  const Found found =
      search(bounds_of, {}, GetParam(), asked("RTEXEC_SEGMENTED_SETS", rtexec::test::rounds<std::uint64_t>(1'000)),
             asked("RTEXEC_SEGMENTED_SEED", 61));
  std::printf("%llu sets, %llu jobs, %llu preemptions, %llu restores, %llu stalls\n",
              static_cast<unsigned long long>(found.sets), static_cast<unsigned long long>(found.all.jobs),
              static_cast<unsigned long long>(found.all.preemptions),
              static_cast<unsigned long long>(found.all.restores), static_cast<unsigned long long>(found.all.stalls));
  EXPECT_FALSE(found.all.exceeded) << found.all.what;
  EXPECT_GT(found.all.preemptions, found.sets);
  EXPECT_GT(found.all.restores, found.sets / 10);
}

// ---- deliberate errors ----

constexpr Order edf = Order::edf, fixed = Order::static_priority;

struct Error {
  const char* name;
  Order order{}; // the order under which it is detected soonest
  SegmentedFaults test{};
  RuleFaults rule{};
};

class SegmentedSearchWithFault : public testing::TestWithParam<Error> {};
INSTANTIATE_TEST_SUITE_P(
    Tests, SegmentedSearchWithFault,
    testing::Values(
        Error{"top_class_below", edf, {.top_class_below = true}},
        Error{"top_class_later", edf, {.top_class_later = true}}, Error{"launch_ahead", edf, {.launch_ahead = true}},
        Error{"committed_tail", fixed, {.committed_tail = true}}, Error{"level_below", edf, {.level_below = true}},
        Error{"flight_below", fixed, {.flight_below = true}}, Error{"above_due", edf, {.above_due = true}},
        Error{"above_jitter", edf, {.above_jitter = true}}, Error{"top_class_above", edf, {.top_class_above = true}},
        Error{"load_above", edf, {.load_above = true}}, Error{"restore", edf, {.restore = true}},
        Error{"delay", edf, {.delay = true}}, Error{"staged_load", edf, {.staged_load = true}},
        Error{"running_job", edf, {.running_job = true}}, Error{"pairing", edf, {.pairing = true}},
        Error{"closed", fixed, {.closed = true}}, Error{"restore_start", edf, {.restore_start = true}}),
    [](const auto& error) { return std::string(error.param.name); });
INSTANTIATE_TEST_SUITE_P(Rules, SegmentedSearchWithFault,
                         testing::Values(Error{"back_fill", edf, {}, {.back_fill = true}},
                                         Error{"loads_go_on", edf, {}, {.loads_go_on = true}},
                                         Error{"whole_jobs", edf, {}, {.whole_jobs = true}},
                                         Error{"displaces", edf, {}, {.displaces = true}},
                                         Error{"looks_past", edf, {}, {.looks_past = true}},
                                         Error{"robs_current", edf, {}, {.robs_current = true}},
                                         Error{"stage_first", edf, {}, {.stage_first = true}},
                                         Error{"commits_always", edf, {}, {.commits_always = true}},
                                         Error{"within_level", fixed, {}, {.within_level = true}}),
                         [](const auto& error) { return std::string(error.param.name); });

TEST_P(SegmentedSearchWithFault, FindsResponseBeyondItsBound) {
  const CutTest broken = [](const CutSet& set) {
    return reference_segmented(set, GetParam().test).value_or(std::vector<long long>{});
  };
  const Found found = search(broken, GetParam().rule, GetParam().order, 8'000, 62);
  EXPECT_TRUE(found.all.exceeded) << found.sets << " sets";
}

/// A due job may be executing although several tasks are due. Job 0 has waited for two others; when it begins, one more
/// is staged before 1 and 2 come. Both and its next job are due 150 later, when 46 + 25 + 2 x 25 + 46 are not done.
TEST(SegmentedSearch, RefutesTestThatIgnoresExecutingDueJob) {
  const auto task = [](long long period, long long execution) {
    return CutTask{.period = period, .deadline = period, .device_class = 1, .chunks = 1, .segments = {execution}};
  };
  const CutSet set{
      .tasks = {task(100, 46), task(150, 25), task(150, 25), task(4000, 25), task(4000, 25), task(4000, 25)},
      .order = Order::edf,
      .frames = 5,
      .copy_engines = 1,
      .in = 1,
      .out = 0};
  EXPECT_TRUE(bounds_of(set).empty());
  const auto broken = reference_segmented(set, {.rests = true});
  ASSERT_TRUE(broken);
  std::mt19937_64 random(63);
  bool exceeded = false;
  for (int round = 0; round < 20 && !exceeded; ++round) exceeded = attack(set, *broken, {}, 2'000, random).exceeded;
  EXPECT_TRUE(exceeded);
}

} // namespace
} // namespace rtexec::test
