// Tests the analysis against its second, independent implementation.
#include "test/policies/reference_analysis.hpp"

#include <gtest/gtest.h>

#include <random>

namespace rtexec::policies {
namespace {

StagedSet random_set(std::mt19937& random) {
  const auto draw = [&](Nanos low, Nanos high) { return std::uniform_int_distribution<Nanos>(low, high)(random); };
  StagedSet set;
  set.release_jitter = draw(0, 3);
  const Nanos n = draw(1, 6);
  if (draw(0, 1) == 0) set.background = draw(1, 20);
  for (Nanos i = 0; i < n; ++i) {
    const Nanos period = draw(30, 400);
    set.tasks.push_back({.period = period,
                         .deadline = draw(period / 2, period),
                         .before = draw(1, std::max(Nanos{1}, period / (4 * n))),
                         .device = draw(0, std::max(Nanos{1}, period / n)),
                         .after = draw(1, std::max(Nanos{1}, period / (4 * n))),
                         .core = static_cast<unsigned>(draw(0, 1))});
  }
  return set;
}

TEST(ReferenceAnalysis, AgreesWithStaticPriorityBounds) {
  std::mt19937 random(21);
  int proved = 0;
  for (int i = 0; i < 20'000; ++i) {
    const StagedSet set = random_set(random);
    const auto expected = rtexec::test::reference_static(set);
    const std::vector<StageBounds> bounds = static_priority_bounds(set);
    const bool kept =
        bounds.size() == set.tasks.size() && bounds.back().settled && bounds.back().done <= set.tasks.back().deadline;
    ASSERT_EQ(kept, expected.has_value());
    if (!kept) continue;
    ++proved;
    for (std::size_t k = 0; k < bounds.size(); ++k) {
      ASSERT_EQ(bounds[k].ready, (*expected)[k].ready);
      ASSERT_EQ(bounds[k].device_done, (*expected)[k].device_done);
      ASSERT_EQ(bounds[k].done, (*expected)[k].done);
    }
  }
  EXPECT_GT(proved, 2000);
}

TEST(ReferenceAnalysis, AgreesWithEdfSplits) {
  std::mt19937 random(22);
  int proved = 0;
  int searched = 0;
  for (int i = 0; i < 2'500; ++i) {
    const StagedSet set = random_set(random);
    const EdfBounds bounds = edf_bounds(set);
    const bool seeded = rtexec::test::reference_edf(set, {}).has_value();
    if (seeded) { ASSERT_TRUE(bounds.proved()); }
    if (!bounds.proved()) continue;
    ++proved;
    searched += !seeded;
    std::vector<long long> split;
    for (const StageBounds& task : bounds.tasks) split.push_back(task.device_done);
    const auto expected = rtexec::test::reference_edf(set, split);
    ASSERT_TRUE(expected);
    for (std::size_t k = 0; k < split.size(); ++k) {
      ASSERT_EQ(bounds.tasks[k].ready, (*expected)[k].ready);
      ASSERT_LE(bounds.tasks[k].done, (*expected)[k].done);
    }
  }
  EXPECT_GT(proved, 300);
  EXPECT_GT(searched, 5) << "the search for a split never helped";
}

} // namespace
} // namespace rtexec::policies
