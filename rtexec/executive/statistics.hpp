// Durations counted in log-linear classes: constant memory, no allocation, percentiles within 1/128 of the value;
// minimum, mean and maximum are exact. One writer; readers see counters while it runs, percentiles once it has ended.
#pragma once

#include "rtexec/executive.hpp"
#include "traces/log_linear.hpp"

#include <array>
#include <atomic>
#include <cstdint>

namespace rtexec::executive {

class DurationHistogram {
 public:
  void add(Duration value) noexcept;
  [[nodiscard]] std::uint64_t count() const noexcept { return count_.load(std::memory_order_relaxed); }
  [[nodiscard]] Duration total() const noexcept {
    return Duration(static_cast<Duration::rep>(sum_.load(std::memory_order_relaxed)));
  }
  [[nodiscard]] Duration longest() const noexcept {
    return Duration(static_cast<Duration::rep>(max_.load(std::memory_order_relaxed)));
  }
  [[nodiscard]] DurationStatistics statistics() const;
  /// The smallest value that at least `share` of all values do not exceed, rounded up to its class.
  [[nodiscard]] Duration percentile(double share) const;

 private:
  std::array<std::atomic<std::uint32_t>, traces::log_linear::classes> counts_{};
  std::atomic<std::uint64_t> count_{0}, sum_{0}, min_{UINT64_MAX}, max_{0};
};

} // namespace rtexec::executive
