#include "rtexec/executive/statistics.hpp"

#include <algorithm>

namespace rtexec::executive {

namespace log_linear = traces::log_linear;

namespace {

void increment(auto& counter, auto by) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}

} // namespace

void DurationHistogram::add(Duration value) noexcept {
  const std::uint64_t ns = log_linear::counted(value);
  increment(counts_[log_linear::class_of(ns)], 1u);
  increment(sum_, ns);
  min_.store(std::min(min_.load(std::memory_order_relaxed), ns), std::memory_order_relaxed);
  max_.store(std::max(max_.load(std::memory_order_relaxed), ns), std::memory_order_relaxed);
  increment(count_, std::uint64_t{1});
}

Duration DurationHistogram::percentile(double share) const {
  return log_linear::percentile(share, count(), Duration(0), longest(),
                                [this](std::size_t i) { return counts_[i].load(std::memory_order_relaxed); });
}

DurationStatistics DurationHistogram::statistics() const {
  const std::uint64_t total = count();
  if (total == 0) return {};
  const auto duration = [](std::uint64_t ns) { return Duration(static_cast<Duration::rep>(ns)); };
  return {.min = duration(min_.load(std::memory_order_relaxed)),
          .mean = duration(sum_.load(std::memory_order_relaxed) / total),
          .p50 = percentile(0.5),
          .p99 = percentile(0.99),
          .p999 = percentile(0.999),
          .max = duration(max_.load(std::memory_order_relaxed))};
}

} // namespace rtexec::executive
