#include "hal/core_claim.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rtexec::hal {
namespace {

// Numbers that no machine has, so that nobody else holds them.
constexpr unsigned first[] = {90001, 90002};
constexpr unsigned overlapping[] = {90002, 90003};
constexpr unsigned third[] = {90003};

TEST(CoreClaim, ExcludesTheNextOneUntilItEnds) {
  {
    const auto claim = CoreClaim::take(first);
    ASSERT_TRUE(claim) << claim.error().what;
    const auto refused = CoreClaim::take(overlapping);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::refused);
    EXPECT_THAT(refused.error().what, testing::HasSubstr("core 90002"));
    // A refused claim holds nothing.
    EXPECT_TRUE(CoreClaim::take(third));
  }
  EXPECT_TRUE(CoreClaim::take(overlapping));
}

} // namespace
} // namespace rtexec::hal
