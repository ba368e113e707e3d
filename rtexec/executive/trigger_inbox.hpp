// Triggers of one task on their way to its release thread. Wait-free, no allocation.
#pragma once

#include <rtexec/units.hpp>

#include <atomic>
#include <cstdint>

namespace rtexec::executive {

class TriggerInbox {
 public:
  /// Any thread: something asks for a job from `at` on, which may be to come.
  void add(Instant at) noexcept {
    latest_.store(at.time_since_epoch().count(), std::memory_order_relaxed);
    added_.fetch_add(1, std::memory_order_release);
  }
  /// Release thread: how many came since the last call, and when the latest of them is.
  [[nodiscard]] std::uint64_t take(Instant& latest) noexcept {
    const std::uint64_t added = added_.load(std::memory_order_acquire);
    latest = Instant(Duration(latest_.load(std::memory_order_relaxed)));
    return added - std::exchange(taken_, added);
  }

 private:
  std::atomic<std::uint64_t> added_{0};
  std::atomic<std::int64_t> latest_{0};
  std::uint64_t taken_ = 0; // release thread
};

} // namespace rtexec::executive
