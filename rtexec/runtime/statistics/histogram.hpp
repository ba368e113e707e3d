// A histogram of integers in log-linear classes, in constant memory and without allocation. Percentiles are within
// 1/128 of the value; minimum, mean and maximum are exact. One thread writes. Other threads may read counters at any
// time, but percentiles only after the last write.
#pragma once

#include <rtexec/report.hpp>
#include "traces/log_linear.hpp"

#include <array>
#include <atomic>
#include <cstdint>

namespace rtexec {

class Histogram {
 public:
  void add(std::uint64_t value) noexcept;
  [[nodiscard]] std::uint64_t count() const noexcept { return count_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t sum() const noexcept { return sum_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t min() const noexcept { return min_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t max() const noexcept { return max_.load(std::memory_order_relaxed); }
  /// Returns the smallest value v such that a fraction `share` of all values is at most v. v is rounded up to the end
  /// of its class.
  [[nodiscard]] std::uint64_t percentile(double share) const;
  [[nodiscard]] Percentiles<std::uint64_t> percentiles() const;

 private:
  std::array<std::atomic<std::uint32_t>, traces::log_linear::classes> counts_{};
  std::atomic<std::uint64_t> count_{0}, sum_{0}, min_{UINT64_MAX}, max_{0};
};

/// A histogram of durations, in ns; negative durations count as 0.
class DurationHistogram {
 public:
  void add(Duration value) noexcept;
  [[nodiscard]] std::uint64_t count() const noexcept { return values_.count(); }
  [[nodiscard]] Duration total() const noexcept { return duration(values_.sum()); }
  [[nodiscard]] Duration longest() const noexcept { return duration(values_.max()); }
  [[nodiscard]] DurationStatistics statistics() const;
  [[nodiscard]] Duration percentile(double share) const { return duration(values_.percentile(share)); }
  [[nodiscard]] Percentiles<Duration> percentiles() const;

 private:
  static Duration duration(std::uint64_t ns) noexcept { return Duration(static_cast<Duration::rep>(ns)); }
  Histogram values_;
};

} // namespace rtexec
