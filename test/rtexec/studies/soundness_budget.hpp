// Helpers of the soundness tests: the number of sets they try, and the words for the adversary's findings.
#pragma once

#include <rtexec/board.hpp>
#include "rtexec/studies/simulator/adversary.hpp"

#include <string>

namespace rtexec::test {

/// Returns RTEXEC_SOUNDNESS_SETS if that is set.
[[nodiscard]] int sets_to_try(int otherwise);

/// Draws the costs of a chunk in nanoseconds. They are independent of each other, and often 0.
[[nodiscard]] SwapCost random_cost(simulator::Random& random, Bytes chunk = {});
/// Returns the costs that plans charge: a copy out costs at least as much as a drop.
[[nodiscard]] SwapCost charged(SwapCost cost);

[[nodiscard]] std::string describe(const simulator::Claim& claim);
[[nodiscard]] std::string describe(const simulator::Claim& claim, const simulator::BrokenBound& broken);

} // namespace rtexec::test
