// Histograms of durations and other integers in log-linear classes, shared by the executive's run-time counters and the
// analysis of a recording. Each power of two has 128 linear classes, so a class is at most 1/128 of its values wide.
#pragma once

#include <rtexec/units.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace rtexec::traces::log_linear {

constexpr unsigned sub_bits = 7;
constexpr std::size_t classes = (64 - sub_bits) << sub_bits;

/// Returns the value of a duration for the histogram. A negative duration counts as 0.
constexpr std::uint64_t counted(Duration value) noexcept {
  return static_cast<std::uint64_t>(std::max<Duration::rep>(value.count(), 0));
}

/// Returns the index of the class that holds `value`, which must be below 2^63.
constexpr std::size_t class_of(std::uint64_t value) noexcept {
  const auto width = static_cast<unsigned>(std::bit_width(value));
  if (width <= sub_bits + 1) return value;
  const unsigned shift = width - sub_bits - 1;
  return (static_cast<std::size_t>(shift) << sub_bits) + (value >> shift);
}
static_assert(class_of(std::uint64_t{INT64_MAX}) == classes - 1);

/// Returns the largest value of the class.
constexpr std::uint64_t upper_edge(std::size_t index) noexcept {
  if (index < (std::size_t{2} << sub_bits)) return index;
  const std::size_t shift = (index >> sub_bits) - 1;
  const std::uint64_t mantissa = index - (shift << sub_bits);
  return ((mantissa + 1) << shift) - 1;
}

/// Returns the percentile `share` (above 0) of `count` values: the smallest upper edge of a class that at least this
/// share of the values does not exceed, clamped to [min, max]. `count_of(class)` returns the number of values in a
/// class.
template <class CountOf>
std::uint64_t percentile(double share, std::uint64_t count, std::uint64_t min, std::uint64_t max, CountOf count_of) {
  const auto wanted = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(count)));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < classes; ++i)
    if ((seen += count_of(i)) >= wanted) return std::clamp(upper_edge(i), min, max);
  return max;
}
template <class CountOf>
Duration percentile(double share, std::uint64_t count, Duration min, Duration max, CountOf count_of) {
  return Duration(static_cast<Duration::rep>(percentile(share, count, counted(min), counted(max), count_of)));
}

} // namespace rtexec::traces::log_linear
