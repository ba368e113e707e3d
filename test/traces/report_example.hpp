// An invented run for the tests of plots and exports. `front` and `rear` share a device that swaps; a best-effort task
// never runs. A swap-in delays every 40th job of front, which misses its deadline. Core 1 is throttled from time to
// time.
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

/// Returns a run with `jobs` jobs of front, and half as many of rear. The same number gives the same run.
[[nodiscard]] Example example(std::uint64_t jobs);

/// Returns the part of a Gantt chart from `from` to `to`.
[[nodiscard]] Gantt part_of(const Gantt& gantt, Instant from, Instant to);

} // namespace rtexec::traces::test
