// The median and the percentiles that all studies and tuners use.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace rtexec::config {

/// Returns the smallest value that at least the fraction `share` (0 to 1) of `values` does not exceed. Returns 0 if
/// `values` is empty.
template <class Value> [[nodiscard]] Value percentile_of(std::vector<Value> values, double share) {
  if (values.empty()) return Value{};
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
  const auto place = values.begin() + static_cast<std::ptrdiff_t>(std::clamp<std::size_t>(rank, 1, values.size()) - 1);
  std::ranges::nth_element(values, place);
  return *place;
}

/// Returns the median: the middle value, or the lower of two middle values. Returns 0 if `values` is empty.
template <class Value> [[nodiscard]] Value median_of(std::vector<Value> values) {
  return percentile_of(std::move(values), 0.5);
}

} // namespace rtexec::config
