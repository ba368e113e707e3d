// Statistics of measured values.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <numeric>
#include <vector>

namespace rtexec::bench {

/// Returns the smallest value that at least `share` of all values do not exceed, or 0 if there are none.
inline double percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
  return values[std::max<std::size_t>(rank, 1) - 1];
}
/// Returns the mean. There must be at least one value.
inline double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}
inline double median(const std::vector<double>& values) { return percentile(values, 0.5); }

inline nlohmann::json percentiles(const std::vector<double>& values) {
  return {{"p50", percentile(values, 0.5)}, {"p99", percentile(values, 0.99)}, {"max", percentile(values, 1)}};
}

} // namespace rtexec::bench
