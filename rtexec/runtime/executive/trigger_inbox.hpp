// A mailbox by which any thread passes triggers to the release thread of one task. A trigger requests a job of the
// task. Wait-free, no allocation.
#pragma once

#include <rtexec/units.hpp>

#include <atomic>
#include <cstdint>
#include <limits>
#include <utility>

namespace rtexec::executive {

class TriggerInbox {
 public:
  /// Adds a trigger, which requests a job at `at` or later. `at` may be in the future. Any thread.
  void add(Instant at) noexcept {
    std::int64_t time = at.time_since_epoch().count(), expected = none;
    latest_.store(time, std::memory_order_relaxed);
    first_.compare_exchange_strong(expected, time, std::memory_order_relaxed);
    added_.fetch_add(1, std::memory_order_release);
  }
  /// Returns the number of triggers since the last call, and stores the instant of the first of these triggers in
  /// `first`. If a trigger arrives during a call, the next call may return a later trigger's instant instead. Release
  /// thread.
  [[nodiscard]] std::uint64_t take(Instant& first) noexcept {
    const std::uint64_t added = added_.load(std::memory_order_acquire);
    const std::uint64_t count = added - std::exchange(taken_, added);
    if (count == 0) return 0;
    const std::int64_t time = first_.exchange(none, std::memory_order_relaxed);
    first = Instant(Duration(time != none ? time : latest_.load(std::memory_order_relaxed)));
    return count;
  }

 private:
  static constexpr std::int64_t none = std::numeric_limits<std::int64_t>::min();

  std::atomic<std::uint64_t> added_{0};
  /// Instants in ns. If first_ is `none`, take() has returned all triggers.
  std::atomic<std::int64_t> first_{none}, latest_{0};
  std::uint64_t taken_ = 0; // number of triggers that take() has returned; release thread
};

} // namespace rtexec::executive
