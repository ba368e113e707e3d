// Words for what admission found: each verdict with its inequality and an explanation for people. The only file that
// makes them. Pure.
#pragma once

#include "policies/bounds/findings.hpp"

#include <optional>
#include <string>

namespace rtexec::policies {

/// Exact, and all in one unit, so that the sides of an inequality compare at a glance: "66.404518ms".
[[nodiscard]] std::string in_ms(Nanos value);

/// The verdict of an admission test of `named`.
[[nodiscard]] TestVerdict told(const Finding& finding, const NamedSet& named);

/// What exceeds the limits of a chain that has its bounds and limits, and what they lack; empty: neither.
[[nodiscard]] std::string told(const PlannedChain& chain, const std::optional<ChainObstacle>& obstacle);

/// Of a test of the device alone, beside admission.
[[nodiscard]] TestVerdict told(const Finding& finding, Order order);

} // namespace rtexec::policies
