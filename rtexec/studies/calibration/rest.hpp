// Pauses that the user can interrupt, for long measurements.
#pragma once

#include <rtexec/units.hpp>

#include <algorithm>
#include <functional>

namespace rtexec::study {

/// Calls `rest` with short intervals that add up to `length`. Returns false as soon as `going_on` returns false.
[[nodiscard]] inline bool rest_while(const std::function<bool()>& going_on, const std::function<void(Duration)>& rest,
                                     Duration length) {
  constexpr Duration piece = std::chrono::milliseconds(50);
  for (Duration left = length; left > Duration(0); left -= piece) {
    if (!going_on()) return false;
    rest(std::min(left, piece));
  }
  return going_on();
}

} // namespace rtexec::study
