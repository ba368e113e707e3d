// Windows on one preemptive static-priority core.
#pragma once

#include "policies/end_to_end.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace rtexec::policies {

/// Longest time from a part becoming ready to its end: `own` of work, and whatever `higher` brings meanwhile.
[[nodiscard]] inline FixedPoint core_window(Nanos own, std::span<const Load> higher, Nanos limit) {
  return least_fixed_point(own, limit, [&](Nanos window) {
    Wide work = own;
    for (const Load& load : higher) work += jobs_in(load, window) * load.cost;
    return work;
  });
}

/// What service threads bring to a core.
[[nodiscard]] inline std::vector<Load> service_on(const StagedSet& set, unsigned core) {
  std::vector<Load> loads;
  for (const CoreLoad& each : set.service)
    if (!each.core || each.core == core) loads.push_back(each.load);
  return loads;
}

/// What the tasks above `task` and service threads bring to its core; the first `task` entries of `bounds` say when their last parts become
/// ready.
[[nodiscard]] inline std::vector<Load> loads_above(const StagedSet& set, std::size_t task, std::span<const StageBounds> bounds) {
  std::vector<Load> loads = service_on(set, set.tasks[task].core);
  for (std::size_t j = 0; j < task; ++j) {
    const StagedTask& other = set.tasks[j];
    if (other.core != set.tasks[task].core) continue;
    loads.push_back({other.period, other.before, set.release_jitter});
    loads.push_back({other.period, other.after, std::max(bounds[j].device_done, Nanos{0})});
  }
  return loads;
}

} // namespace rtexec::policies
