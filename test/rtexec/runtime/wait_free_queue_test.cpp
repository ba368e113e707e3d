#include "rtexec/runtime/executive/wait_free_queue.hpp"
#include "test/support/rounds.hpp"

#include <cstdint>
#include <gtest/gtest.h>
#include <thread>

namespace rtexec::executive {
namespace {

TEST(WaitFreeQueue, KeepsOrderAndRefusesWhenFull) {
  WaitFreeQueue<int, 4> queue;
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(queue.push(i));
  EXPECT_FALSE(queue.push(4));
  int item = -1;
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(queue.pop(item));
    EXPECT_EQ(item, i);
  }
  EXPECT_FALSE(queue.pop(item));
  EXPECT_EQ(queue.front(), nullptr);
}

TEST(WaitFreeQueue, LosesNothingBetweenTwoThreads) {
  const auto count = test::rounds<std::uint64_t>(100'000);
  WaitFreeQueue<std::uint64_t, 8> queue;
  std::jthread producer([&] {
    for (std::uint64_t i = 0; i < count; ++i)
      while (!queue.push(i)) std::this_thread::yield();
  });
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t item = 0;
    while (!queue.pop(item)) std::this_thread::yield();
    ASSERT_EQ(item, i);
  }
}

} // namespace
} // namespace rtexec::executive
