#include "rtexec/runtime/statistics/histogram.hpp"

#include <algorithm>

namespace rtexec {

namespace log_linear = traces::log_linear;

namespace {

void increment(auto& counter, auto by) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}

} // namespace

void Histogram::add(std::uint64_t value) noexcept {
  value = std::min(value, std::uint64_t{INT64_MAX});
  increment(counts_[log_linear::class_of(value)], 1u);
  increment(sum_, value);
  min_.store(std::min(min(), value), std::memory_order_relaxed);
  max_.store(std::max(max(), value), std::memory_order_relaxed);
  increment(count_, std::uint64_t{1});
}

std::uint64_t Histogram::percentile(double share) const {
  return log_linear::percentile(share, count(), std::uint64_t{0}, max(),
                                [this](std::size_t i) { return counts_[i].load(std::memory_order_relaxed); });
}

Percentiles<std::uint64_t> Histogram::percentiles() const {
  return {.p50 = percentile(0.5), .p99 = percentile(0.99), .max = max(), .samples = count()};
}

void DurationHistogram::add(Duration value) noexcept { values_.add(log_linear::counted(value)); }

DurationStatistics DurationHistogram::statistics() const {
  if (count() == 0) return {};
  return {.min = duration(values_.min()),
          .mean = duration(values_.sum() / count()),
          .p50 = percentile(0.5),
          .p99 = percentile(0.99),
          .p999 = percentile(0.999),
          .max = longest()};
}

Percentiles<Duration> DurationHistogram::percentiles() const {
  return {.p50 = percentile(0.5), .p99 = percentile(0.99), .max = longest(), .samples = count()};
}

} // namespace rtexec
