// The admission tests, each as a finding: what limits the set, and by how much.
#pragma once

#include "policies/bounds/findings.hpp"

#include <optional>
#include <span>
#include <vector>

namespace rtexec::policies {

/// What refuses a set without any test: an obstacle, or too much work for the device.
using Refusal = std::optional<Finding>;
[[nodiscard]] Refusal refused(const NamedSet& named);

struct Findings {
  Finding device;             // alone
  std::vector<Finding> cores; // one per core that has tasks, by core number
  Finding end_to_end;
};

// `refusal`: what refused() says of `named`.
[[nodiscard]] Findings findings(const NamedSet& named, const Refusal& refusal, const EdfBounds& bounds);
[[nodiscard]] Findings findings(const NamedSet& named, const Refusal& refusal, std::span<const StageBounds> bounds);

/// The last of these alone.
[[nodiscard]] Finding end_to_end_finding(const NamedSet& named, const Refusal& refusal, const EdfBounds& bounds);
[[nodiscard]] Finding end_to_end_finding(const NamedSet& named, const Refusal& refusal,
                                         std::span<const StageBounds> bounds);

// For reservations: `named` has services; where no windows fit, a deadline is too short for its parts or a core has too
// little to give.
/// `device`: what the test of the device alone looks at, also where no windows fit.
[[nodiscard]] Findings findings(const NamedSet& named, const Refusal& refusal, const Reserved<EdfBounds>& reserved,
                                const EdfBounds& device);
[[nodiscard]] Findings findings(const NamedSet& named, const Refusal& refusal,
                                const Reserved<std::vector<StageBounds>>& reserved);
[[nodiscard]] Finding end_to_end_finding(const NamedSet& named, const Refusal& refusal,
                                         const Reserved<EdfBounds>& reserved);
[[nodiscard]] Finding end_to_end_finding(const NamedSet& named, const Refusal& refusal,
                                         const Reserved<std::vector<StageBounds>>& reserved);

} // namespace rtexec::policies
