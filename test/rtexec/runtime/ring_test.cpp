#include "rtexec/runtime/executive/wait_free_queue.hpp"
#include "test/support/rounds.hpp"

#include <cstdint>
#include <gtest/gtest.h>
#include <thread>

namespace rtexec::executive {
namespace {

TEST(Ring, KeepsTheOrderAndRefusesWhenFull) {
  Ring<int, 4> ring;
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(ring.push(i));
  EXPECT_FALSE(ring.push(4));
  int item = -1;
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(ring.pop(item));
    EXPECT_EQ(item, i);
  }
  EXPECT_FALSE(ring.pop(item));
  EXPECT_EQ(ring.front(), nullptr);
}

TEST(Ring, TwoThreadsLoseNothing) {
  const auto count = test::rounds<std::uint64_t>(100'000);
  Ring<std::uint64_t, 8> ring;
  std::jthread producer([&] {
    for (std::uint64_t i = 0; i < count; ++i)
      while (!ring.push(i)) std::this_thread::yield();
  });
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t item = 0;
    while (!ring.pop(item)) std::this_thread::yield();
    ASSERT_EQ(item, i);
  }
}

} // namespace
} // namespace rtexec::executive
