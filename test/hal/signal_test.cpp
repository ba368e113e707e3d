#include "test/hal/hal_support.hpp"
#include "test/support/sanitized.hpp"
#include "test/support/thread_counts.hpp"

#include <atomic>
#include <csignal>
#include <thread>
#include <vector>

namespace rtexec::hal::test {
namespace {

using namespace std::chrono_literals;

TEST(Signal, WaitReturnsAtOnceIfAlreadyRaised) {
  Signal signal;
  const auto seen = signal.value();
  signal.raise();
  signal.wait(seen);
  EXPECT_EQ(signal.value(), seen + 1);
}

// Each side waits for the other at every step: one missed wake-up and the test hangs.
TEST(Signal, MissesNoWakeUp) {
  constexpr std::uint32_t rounds = sanitized ? 5'000 : 50'000;
  Signal ping, pong;
  std::uint32_t plain = 0; // passed back and forth: the thread sanitizer checks the ordering
  const auto wait_for = [](const Signal& signal, std::uint32_t value) {
    while (signal.value() < value) signal.wait(value - 1);
  };
  std::thread other([&] {
    for (std::uint32_t round = 1; round <= rounds; ++round) {
      wait_for(ping, round);
      ++plain;
      pong.raise();
    }
  });
  for (std::uint32_t round = 1; round <= rounds; ++round) {
    ++plain;
    ping.raise();
    wait_for(pong, round);
  }
  other.join();
  EXPECT_EQ(plain, 2 * rounds);
}

TEST(Signal, RaiseWakesEveryWaiter) {
  Signal signal;
  std::atomic<int> awake = 0;
  std::vector<std::thread> waiters;
  for (int i = 0; i < 4; ++i) {
    waiters.emplace_back([&] {
      while (signal.value() == 0) signal.wait(0);
      ++awake;
    });
  }
  signal.raise();
  for (auto& waiter : waiters) waiter.join();
  EXPECT_EQ(awake, 4);
}

TEST(Signal, WaitUntilTimesOutAtTheDeadlineAndNotBefore) {
  const Signal signal;
  const Instant deadline = now() + 5ms;
  while (signal.wait_until(0, deadline)) {} // early returns are allowed
  EXPECT_GE(now(), deadline);
}

TEST(Signal, WaitUntilReturnsFalseForPastDeadline) {
  const Signal signal;
  EXPECT_FALSE(signal.wait_until(0, now() - 1s));
  EXPECT_FALSE(signal.wait_until(0, Instant(Duration(-5)))) << "before the clock's origin";
}

TEST(Signal, WaitUntilReturnsTrueIfAlreadyRaised) {
  Signal signal;
  signal.raise();
  EXPECT_TRUE(signal.wait_until(0, now() + 1h));
}

TEST(SleepUntil, NeverReturnsEarlyUnderSignals) {
  struct sigaction ignore {};
  ignore.sa_handler = [](int) {};
  struct sigaction before {};
  ASSERT_EQ(::sigaction(SIGUSR1, &ignore, &before), 0);
  std::atomic<bool> over = false;
  const pthread_t sleeper = ::pthread_self();
  std::thread disturber([&] {
    while (!over) {
      ::pthread_kill(sleeper, SIGUSR1);
      std::this_thread::sleep_for(1ms);
    }
  });
  const Instant when = now() + 20ms;
  sleep_until(when);
  EXPECT_GE(now(), when);
  over = true;
  disturber.join();
  ::sigaction(SIGUSR1, &before, nullptr);
}

TEST(SleepUntil, ReturnsAtOnceForPastTime) {
  sleep_until(now() - 1s);
  sleep_until(Instant(Duration(-1)));
}

TEST(Signal, AllocatesNothing) {
  Signal signal;
  const auto before = allocations();
  for (int i = 0; i < 100; ++i) {
    const auto seen = signal.value();
    signal.raise();
    signal.wait(seen);
    (void)signal.wait_until(signal.value(), now() + 10us);
    sleep_until(now() + 1us);
  }
  EXPECT_EQ(allocations(), before);
}

} // namespace
} // namespace rtexec::hal::test
