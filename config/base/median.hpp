// The median and the percentiles that all studies and tuners print and compare.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace rtexec::config {

/// Returns the smallest of `values` that is at least as large as the fraction `share` of them (0 to 1). Returns 0 if
/// there are none.
template <class Value> [[nodiscard]] Value percentile_of(std::vector<Value> values, double share) {
  if (values.empty()) return Value{};
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
  const auto place = values.begin() + static_cast<std::ptrdiff_t>(std::clamp<std::size_t>(rank, 1, values.size()) - 1);
  std::ranges::nth_element(values, place);
  return *place;
}

/// Returns the median: the middle value, or the lower one of two middle values. Returns 0 if there are none.
template <class Value> [[nodiscard]] Value median_of(std::vector<Value> values) {
  return percentile_of(std::move(values), 0.5);
}

} // namespace rtexec::config
