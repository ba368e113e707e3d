// How much two rows of stretches of time have in common, whatever their clock.
#pragma once

#include <rtexec/units.hpp>

#include <algorithm>
#include <vector>

namespace rtexec::traces {

/// How long some of `spans` and some of `others`, each from `begin` to `end`, last at once; those of one row do not
/// overlap.
template <class Span> [[nodiscard]] Duration together(const std::vector<Span>& spans, const std::vector<Span>& others) {
  Duration sum{0};
  for (const Span& one : spans)
    for (const Span& other : others)
      sum += std::max(Duration(0), std::min(one.end, other.end) - std::max(one.begin, other.begin));
  return sum;
}

/// Of one row.
template <class Span> [[nodiscard]] Duration length_of(const std::vector<Span>& spans) {
  Duration sum{0};
  for (const Span& each : spans) sum += each.end - each.begin;
  return sum;
}

} // namespace rtexec::traces
