// Measures how much processor time a thread needs to emit a trace event, with and without a recording.
#pragma once

#include <rtexec/result.hpp>
#include "rtexec/studies/bringup/item.hpp"

#include <cstdint>

namespace rtexec::bringup {

struct TraceCost {
  double off_ns = 0;         // the median time per event without a recording
  double on_ns = 0;          // the median time per event with a recording
  std::uint64_t emitted = 0; // the number of events emitted during the recording
  std::uint64_t recorded = 0;
  std::uint64_t lost = 0;
};

/// Makes the answer for the cost. If `cost` is an error, the error is the reason why no recording was possible.
[[nodiscard]] Answer judge(const Result<TraceCost>& cost, const Subject& subject);

} // namespace rtexec::bringup
