// Builds subjects that test the device alone: a set at the edge of what a test accepts, as a claim for the simulator.
#pragma once

#include "policies/device/device_set.hpp"
#include "test/soundness/subjects.hpp"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace rtexec::soundness {

/// Scales of periods and deadlines. The scale `whole` changes nothing.
inline constexpr std::int64_t shortest = 8, longest = 160, whole = 64;

/// Finds, in few steps, the smallest scale between `least` and `most` at which the test accepts.
template <class Accepted, class Try>
std::optional<Accepted> at_the_edge(std::int64_t least, std::int64_t most, Try accepted_at) {
  std::optional<Accepted> best;
  while (most - least > 1) {
    const std::int64_t middle = (least + most) / 2;
    if (auto accepted = accepted_at(middle)) {
      best = std::move(accepted);
      most = middle;
    } else {
      least = middle;
    }
  }
  return best;
}

void scale(policies::DeviceTask& task, std::int64_t by);

/// Returns the set with the costs that plans charge.
[[nodiscard]] policies::DeviceSet charged(policies::DeviceSet set);

struct Promise {
  policies::Volumes volumes;
  std::vector<policies::Nanos> bounds; // by task; empty: the deadlines are the bounds
};

/// Makes a claim in which each task has a core of its own and only a part on the device.
[[nodiscard]] Claim claim_of(const policies::DeviceSet& set, const Promise& promise, const Way& way);

} // namespace rtexec::soundness
