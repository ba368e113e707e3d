// Turns the findings of admission into text: each verdict with its inequality and an explanation. Only this file makes
// this text. Pure.
#pragma once

#include "policies/bounds/findings.hpp"

#include <optional>
#include <string>

namespace rtexec::policies {

/// Returns a time in milliseconds, exactly, so that the sides of an inequality compare at a glance: "66.404518ms".
[[nodiscard]] std::string in_ms(Nanos value);

/// Returns the verdict of an admission test of `named`.
[[nodiscard]] TestVerdict told(const Finding& finding, const NamedSet& named);

/// Returns text that says which limits `chain` exceeds, and why bounds are missing. Returns an empty string if there is
/// nothing to say. `chain` must have its bounds and limits.
[[nodiscard]] std::string told(const PlannedChain& chain, const std::optional<ChainObstacle>& obstacle);

/// Returns the verdict of a test of the device alone, outside admission.
[[nodiscard]] TestVerdict told(const Finding& finding, Order order);

} // namespace rtexec::policies
