// The run of test/policies/two_stops.hpp for the simulator.
#pragma once

#include "rtexec/studies/simulator/simulator.hpp"
#include "test/policies/two_stops.hpp"

#include <optional>
#include <vector>

namespace rtexec::test {

using policies::test::TwoStops;

/// Returns the options for the example's releases and stops. No job comes after those of the example.
inline simulator::Options options_of(const TwoStops& example) {
  simulator::Options options;
  options.horizon = std::chrono::seconds(1);
  options.release = [releases = example.releases, next = std::vector<std::size_t>(example.releases.size())](
                        std::uint32_t task, Instant) mutable {
    const std::size_t job = next[task]++;
    return job < releases[task].size() ? Instant{releases[task][job].at} : Instant{std::chrono::hours(1)};
  };
  options.release_latency = [releases = example.releases](policies::JobId job) {
    return releases[job.task][job.number].latency;
  };
  options.stop = [stops = example.stops, next = std::size_t{0}](Instant) mutable {
    if (next == stops.size()) return std::optional<simulator::MachineStop>();
    return std::optional(simulator::MachineStop{.begin = Instant{stops[next++]}, .length = TwoStops::platform_stall});
  };
  return options;
}

} // namespace rtexec::test
