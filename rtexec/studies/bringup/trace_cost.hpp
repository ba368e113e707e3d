// What an event of a recording costs the thread that emits it, with a recording and without.
#pragma once

#include <rtexec/result.hpp>
#include "rtexec/studies/bringup/item.hpp"

#include <cstdint>

namespace rtexec::bringup {

struct TraceCost {
  double off_ns = 0;         // an event, where nothing is recorded
  double on_ns = 0;          // where it is; medians
  std::uint64_t emitted = 0; // while it was recorded
  std::uint64_t recorded = 0;
  std::uint64_t lost = 0;
};

/// An error is why nothing could be recorded.
[[nodiscard]] Answer judge(const Result<TraceCost>& cost, const Subject& subject);

} // namespace rtexec::bringup
