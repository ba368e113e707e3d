// Tests the estimate of the remaining time, on a virtual clock.
#include "rtexec/cli/text/time_left.hpp"

#include <gtest/gtest.h>

namespace rtexec::report {
namespace {

using namespace std::chrono_literals;

Instant at(Duration since) { return Instant(1h + since); }

TEST(TimeLeft, IsUnknownWithoutProgressForASecond) {
  TimeLeft left;
  EXPECT_FALSE(left(at(0s), 0, 10));
  EXPECT_FALSE(left(at(500ms), 1, 10));
  EXPECT_TRUE(left(at(2s), 2, 10));
  TimeLeft idle;
  EXPECT_FALSE(idle(at(0s), 0, 10));
  EXPECT_FALSE(idle(at(9s), 0, 10));
}

TEST(TimeLeft, IsExactAtSteadyPaceHoweverOftenQueried) {
  TimeLeft left;
  std::optional<Duration> told;
  for (int step = 0; step <= 5000; ++step) told = left(at(step * 20ms), static_cast<std::uint64_t>(step), 20'000);
  ASSERT_TRUE(told);
  EXPECT_NEAR(std::chrono::duration<double>(*told).count(), 300, 1);
}

TEST(TimeLeft, IgnoresWorkDoneBeforeStart) {
  TimeLeft left;
  EXPECT_FALSE(left(at(0s), 900, 1000));
  EXPECT_EQ(left(at(10s), 910, 1000), 90s);
}

TEST(TimeLeft, FollowsChangeOfPace) {
  TimeLeft left;
  std::uint64_t done = 0;
  for (int second = 0; second < 10; ++second) (void)left(at(second * 1s), done += 1, 1000);
  std::optional<Duration> told;
  for (int second = 10; second < 30; ++second) told = left(at(second * 1s), done += 10, 1000);
  ASSERT_TRUE(told);
  EXPECT_NEAR(std::chrono::duration<double>(*told).count(), static_cast<double>(1000 - done) / 10, 1);
}

TEST(TimeLeft, UsesOverallPaceWhenNothingWasDoneLately) {
  TimeLeft left;
  (void)left(at(0s), 0, 10);
  (void)left(at(2s), 5, 10);
  EXPECT_EQ(left(at(20s), 5, 10), 20s);
}

TEST(TimeLeft, IsRoundedToCoarseUnits) {
  EXPECT_EQ(rough(0s), "0 s");
  EXPECT_EQ(rough(1200ms), "2 s");
  EXPECT_EQ(rough(90s), "90 s");
  EXPECT_EQ(rough(91s), "2 min");
  EXPECT_EQ(rough(90min), "90 min");
  EXPECT_EQ(rough(91min), "2 h");
}

} // namespace
} // namespace rtexec::report
