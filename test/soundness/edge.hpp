// What subjects of the device alone are made of: a set at the edge of what a test accepts, as a claim for the
// simulator.
#pragma once

#include "policies/device/device_set.hpp"
#include "test/soundness/subjects.hpp"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace rtexec::soundness {

/// Scales of periods and deadlines: `whole` changes none.
inline constexpr std::int64_t shortest = 8, longest = 160, whole = 64;

/// The smallest scale between these at which something is accepted; few steps.
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

/// With costs as they are charged.
[[nodiscard]] policies::DeviceSet charged(policies::DeviceSet set);

struct Promise {
  policies::Volumes volumes;
  std::vector<policies::Nanos> bounds; // by task; empty: the deadlines
};

/// Each task on a core of its own, with a part on the device alone.
[[nodiscard]] Claim claim_of(const policies::DeviceSet& set, const Promise& promise, const Way& way);

} // namespace rtexec::soundness
