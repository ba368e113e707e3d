// Words for the findings of admission: each verdict with its inequality and an explanation for people. No other file
// makes these words. Pure.
#pragma once

#include "policies/bounds/findings.hpp"

#include <optional>
#include <string>

namespace rtexec::policies {

/// Returns a time in milliseconds, exactly, so that the sides of an inequality compare at a glance: "66.404518ms".
[[nodiscard]] std::string in_ms(Nanos value);

/// Returns the verdict of an admission test of `named`.
[[nodiscard]] TestVerdict told(const Finding& finding, const NamedSet& named);

/// Returns what exceeds the limits of a chain that has its bounds and limits, and why bounds are missing. Empty:
/// neither.
[[nodiscard]] std::string told(const PlannedChain& chain, const std::optional<ChainObstacle>& obstacle);

/// Returns the verdict of a test of the device alone, outside admission.
[[nodiscard]] TestVerdict told(const Finding& finding, Order order);

} // namespace rtexec::policies
