#include "policies/arithmetic.hpp"

#include <gtest/gtest.h>

namespace rtexec::policies {
namespace {

TEST(LeastFixedPoint, EndsSoonWhereThereIsNone) {
  int steps = 0;
  const FixedPoint found = least_fixed_point(1, unbounded, [&](Nanos window) {
    ++steps;
    return Wide{window} * 2 + 1;
  });
  EXPECT_FALSE(found.settled);
  EXPECT_EQ(found.value, unbounded);
  EXPECT_LT(steps, 60);
}

TEST(LeastFixedPoint, IsTheLeastOne) {
  const FixedPoint found =
      least_fixed_point(3, unbounded, [](Nanos window) { return jobs_in({.period = 10, .cost = 4}, window) * 4 + 3; });
  EXPECT_TRUE(found.settled);
  EXPECT_EQ(found.value, 7);
}

TEST(LeastFixedPoint, IsNotSoughtAboveTheLimit) {
  const FixedPoint found = least_fixed_point(3, 50, [](Nanos window) { return Wide{window} + 10; });
  EXPECT_FALSE(found.settled);
  EXPECT_EQ(found.value, 53);
}

} // namespace
} // namespace rtexec::policies
