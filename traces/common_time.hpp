// Computes lengths and overlaps of sequences of time intervals, on any clock.
#pragma once

#include <rtexec/units.hpp>

#include <algorithm>
#include <vector>

namespace rtexec::traces {

/// Returns the total time in which an interval of `spans` overlaps an interval of `others`. Each interval has a `begin`
/// and an `end`. The intervals of one vector must not overlap.
template <class Span> [[nodiscard]] Duration together(const std::vector<Span>& spans, const std::vector<Span>& others) {
  Duration sum{0};
  for (const Span& one : spans)
    for (const Span& other : others)
      sum += std::max(Duration(0), std::min(one.end, other.end) - std::max(one.begin, other.begin));
  return sum;
}

/// Returns the summed length of the intervals of `spans`.
template <class Span> [[nodiscard]] Duration length_of(const std::vector<Span>& spans) {
  Duration sum{0};
  for (const Span& each : spans) sum += each.end - each.begin;
  return sum;
}

} // namespace rtexec::traces
