// What the tests of soundness share: how many sets they try, and the words for what the adversary finds.
#pragma once

#include <rtexec/board.hpp>
#include "rtexec/studies/simulator/adversary.hpp"

#include <string>

namespace rtexec::test {

/// RTEXEC_SOUNDNESS_SETS, where that is set.
[[nodiscard]] int sets_to_try(int otherwise);

/// Of a chunk, in nanoseconds: each cost free of the others, and often 0.
[[nodiscard]] SwapCost random_cost(simulator::Random& random, Bytes chunk = {});
/// What plans charge for it: a copy out no less than a drop.
[[nodiscard]] SwapCost charged(SwapCost cost);

[[nodiscard]] std::string describe(const simulator::Claim& claim);
[[nodiscard]] std::string describe(const simulator::Claim& claim, const simulator::BrokenBound& broken);

} // namespace rtexec::test
