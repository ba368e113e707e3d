#include "policies/exact_arithmetic.hpp"

#include <gtest/gtest.h>

#include <random>

namespace rtexec::policies {
namespace {

TEST(Quotient, EqualsIntegerDivision) {
  std::mt19937_64 random(1);
  for (int run = 0; run < 1'000'000; ++run) {
    const Nanos b = static_cast<Nanos>(random() >> (8 + random() % 55)) + 1;
    const Nanos multiple = b * static_cast<Nanos>(random() % static_cast<std::uint64_t>((Nanos{1} << 56) / b + 1));
    for (const Nanos a : {multiple - 1, multiple, multiple + 1, static_cast<Nanos>(random() >> 8)})
      ASSERT_EQ(quotient(a, b), a / b) << a << " / " << b;
  }
}

TEST(LeastFixedPoint, StopsSoonWhenNoFixedPointExists) {
  int steps = 0;
  const FixedPoint found = least_fixed_point(1, unbounded, [&](Nanos window) {
    ++steps;
    return Wide{window} * 2 + 1;
  });
  EXPECT_FALSE(found.settled);
  EXPECT_EQ(found.value, unbounded);
  EXPECT_LT(steps, 60);
}

TEST(LeastFixedPoint, ReturnsLeastOfSeveralFixedPoints) {
  const FixedPoint found =
      least_fixed_point(3, unbounded, [](Nanos window) { return jobs_in({.period = 10, .cost = 4}, window) * 4 + 3; });
  EXPECT_TRUE(found.settled);
  EXPECT_EQ(found.value, 7);
}

TEST(LeastFixedPoint, StopsSearchAboveLimit) {
  const FixedPoint found = least_fixed_point(3, 50, [](Nanos window) { return Wide{window} + 10; });
  EXPECT_FALSE(found.settled);
  EXPECT_EQ(found.value, 53);
}

} // namespace
} // namespace rtexec::policies
