// A run made by hand for the tests of pictures and exports: `front` and `rear` share a device that swaps, a best-effort
// task never runs. Every 40th job of front is held up by a swap-in and misses its deadline; core 1 is throttled now and
// then.
#pragma once

#include "traces/analysis/analysis.hpp"
#include "traces/analysis/gantt.hpp"

#include <cstdint>
#include <vector>

namespace rtexec::traces::test {

struct Example {
  Analysis analysis;
  Gantt gantt; // the whole run
  std::vector<JobBreakdown> jobs;
};

/// So many jobs of front, and half as many of rear. The same number gives the same run.
[[nodiscard]] Example example(std::uint64_t jobs);

/// The stretch of a Gantt from `from` to `to`.
[[nodiscard]] Gantt part_of(const Gantt& gantt, Instant from, Instant to);

} // namespace rtexec::traces::test
