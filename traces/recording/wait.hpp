// Bounded waiting for a condition outside this process. Set-up code only.
#pragma once

#include <rtexec/units.hpp>

#include <chrono>
#include <thread>

namespace rtexec::traces {

/// Polls `condition` every `step`. Returns true once it is true, or false after `limit`. Polls at least twice.
template <class Condition>
[[nodiscard]] bool wait_for(Condition condition, Duration limit, Duration step = std::chrono::milliseconds(5)) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= end) return condition();
    std::this_thread::sleep_for(step);
  }
  return true;
}

} // namespace rtexec::traces
