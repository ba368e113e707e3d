// Durations counted in log-linear classes: constant memory, no allocation, percentiles within 1/128 of the value; minimum, mean
// and maximum are exact. One writer; readers see counters while it runs, percentiles once it has ended.
#pragma once

#include "rtexec/executive.hpp"

#include <array>
#include <atomic>
#include <cstdint>

namespace rtexec::executive {

class DurationHistogram {
 public:
  void add(Duration value) noexcept;
  [[nodiscard]] std::uint64_t count() const noexcept { return count_.load(std::memory_order_relaxed); }
  [[nodiscard]] DurationStatistics statistics() const;
  /// The smallest value that at least `share` of all values do not exceed, rounded up to its class.
  [[nodiscard]] Duration percentile(double share) const;

 private:
  static constexpr unsigned sub_bits = 7; // 128 linear classes in each power of two
  static constexpr std::size_t classes = (64 - sub_bits) << sub_bits;
  static std::size_t class_of(std::uint64_t value) noexcept;
  static std::uint64_t upper_edge(std::size_t index) noexcept;

  std::array<std::atomic<std::uint32_t>, classes> counts_{};
  std::atomic<std::uint64_t> count_{0}, sum_{0}, min_{UINT64_MAX}, max_{0};
};

} // namespace rtexec::executive
