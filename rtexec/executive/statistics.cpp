#include "rtexec/executive/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace rtexec::executive {

namespace log_linear = traces::log_linear;

namespace {

void increment(auto& counter, auto by) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}

} // namespace

void DurationHistogram::add(Duration value) noexcept {
  const auto ns = static_cast<std::uint64_t>(std::max<Duration::rep>(value.count(), 0));
  increment(counts_[std::min(log_linear::class_of(ns), log_linear::classes - 1)], 1u);
  increment(sum_, ns);
  min_.store(std::min(min_.load(std::memory_order_relaxed), ns), std::memory_order_relaxed);
  max_.store(std::max(max_.load(std::memory_order_relaxed), ns), std::memory_order_relaxed);
  increment(count_, std::uint64_t{1});
}

Duration DurationHistogram::percentile(double share) const {
  const std::uint64_t total = count();
  const auto wanted = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(total)));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < log_linear::classes; ++i) {
    seen += counts_[i].load(std::memory_order_relaxed);
    if (seen >= wanted && seen > 0)
      return Duration(
          static_cast<Duration::rep>(std::min(log_linear::upper_edge(i), max_.load(std::memory_order_relaxed))));
  }
  return Duration(static_cast<Duration::rep>(max_.load(std::memory_order_relaxed)));
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
