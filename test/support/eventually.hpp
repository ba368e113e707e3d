#pragma once

#include <chrono>
#include <gtest/gtest.h>
#include <thread>

namespace rtexec::test {

/// Waits until `condition` holds, at most half a minute, so that it works on a busy machine too.
template <class Condition> testing::AssertionResult eventually(Condition condition) {
  using Clock = std::chrono::steady_clock;
  for (const auto end = Clock::now() + std::chrono::seconds(30); Clock::now() < end;
       std::this_thread::sleep_for(std::chrono::milliseconds(1)))
    if (condition()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "not within 30 s";
}

} // namespace rtexec::test
