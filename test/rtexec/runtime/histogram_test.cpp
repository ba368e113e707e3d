#include "rtexec/runtime/statistics/histogram.hpp"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <random>

namespace rtexec {
namespace {

TEST(DurationHistogram, EmptyGivesZeros) {
  const DurationHistogram histogram;
  EXPECT_EQ(histogram.count(), 0u);
  EXPECT_EQ(histogram.statistics().max, Duration(0));
  EXPECT_EQ(histogram.percentile(0.99), Duration(0));
}

TEST(DurationHistogram, SmallValuesAreExact) {
  DurationHistogram histogram;
  for (int ns = 1; ns <= 100; ++ns) histogram.add(Duration(ns));
  EXPECT_EQ(histogram.percentile(0.5), Duration(50));
  EXPECT_EQ(histogram.percentile(0.99), Duration(99));
  EXPECT_EQ(histogram.statistics().mean, Duration(50));
}

TEST(DurationHistogram, NegativeDurationsCountAsZero) {
  DurationHistogram histogram;
  histogram.add(Duration(-5));
  EXPECT_EQ(histogram.statistics().max, Duration(0));
}

TEST(DurationHistogram, KeepsLargestDurationExact) {
  DurationHistogram histogram;
  histogram.add(Duration::max());
  EXPECT_EQ(histogram.statistics().max, Duration::max());
  EXPECT_EQ(histogram.percentile(1), Duration::max());
}

// A percentile is never below the true one, and at most 1/128 above it.
TEST(DurationHistogram, PercentilesLieAtMost1Of128AboveExactValue) {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> lengths(14, 3);
  DurationHistogram histogram;
  std::vector<std::int64_t> all;
  for (int i = 0; i < 20000; ++i) {
    const auto ns = static_cast<std::int64_t>(lengths(random));
    all.push_back(ns);
    histogram.add(Duration(ns));
  }
  std::ranges::sort(all);
  for (const double share : {0.01, 0.25, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(all.size())));
    const std::int64_t truth = all[rank - 1];
    const std::int64_t told = histogram.percentile(share).count();
    EXPECT_GE(told, truth) << share;
    EXPECT_LE(told, truth + truth / 128 + 1) << share;
  }
}

} // namespace
} // namespace rtexec
