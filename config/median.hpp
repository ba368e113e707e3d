// The median that all studies and tuners print and compare.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace rtexec::config {

/// The middle one; of two the lower one, of none 0.
template <class Value> [[nodiscard]] Value median_of(std::vector<Value> values) {
  if (values.empty()) return Value{};
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

} // namespace rtexec::config
