// Converts the findings of the admission tests into text: each verdict with its inequality and an explanation. All such
// text is produced here. Pure.
#pragma once

#include "policies/bounds/findings.hpp"

#include <optional>
#include <string>

namespace rtexec::policies {

/// Returns a time in milliseconds with all six decimals, so that a reader can compare the two sides of an inequality:
/// "66.404518ms".
[[nodiscard]] std::string in_ms(Nanos value);

/// Returns the verdict (result with inequality and explanation) for the finding of an admission test. `named`: the
/// tested set.
[[nodiscard]] TestVerdict told(const Finding& finding, const NamedSet& named);

/// Returns text about the limits that `chain` exceeds, and about the reason why it has no bounds (`obstacle`). Returns
/// an empty string if it exceeds no limit and has all bounds. The bounds and limits of `chain` must be set.
[[nodiscard]] std::string told(const PlannedChain& chain, const std::optional<ChainObstacle>& obstacle);

/// Returns the verdict for the finding of a test of the device alone, outside admission. `order`: the order of jobs
/// that was tested.
[[nodiscard]] TestVerdict told(const Finding& finding, Order order);

} // namespace rtexec::policies
