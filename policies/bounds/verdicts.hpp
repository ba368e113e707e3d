// The findings of the admission tests: what limits the set, and by how much.
#pragma once

#include "policies/bounds/findings.hpp"

#include <optional>
#include <span>
#include <vector>

namespace rtexec::policies {

/// The reason that refuses a set without any test: an obstacle, or too much work for the device.
using Refusal = std::optional<Finding>;
[[nodiscard]] Refusal refused(const NamedSet& named);

struct Findings {
  Finding device;             // the device alone
  std::vector<Finding> cores; // one per core that has tasks, by core number
  Finding end_to_end;
};

// `refusal`: the result of refused() for `named`.
[[nodiscard]] Findings findings(const NamedSet& named, const Refusal& refusal, const EdfBounds& bounds);
[[nodiscard]] Findings findings(const NamedSet& named, const Refusal& refusal, std::span<const StageBounds> bounds);

/// Returns only `Findings::end_to_end`.
[[nodiscard]] Finding end_to_end_finding(const NamedSet& named, const Refusal& refusal, const EdfBounds& bounds);
[[nodiscard]] Finding end_to_end_finding(const NamedSet& named, const Refusal& refusal,
                                         std::span<const StageBounds> bounds);

// The following are for reservations: `named` has services. If no windows fit, the finding names a deadline that is too
// short for its parts, or a core that has too little time.
/// `device`: the bounds for the test of the device alone, used even if no windows fit.
[[nodiscard]] Findings findings(const NamedSet& named, const Refusal& refusal, const Reserved<EdfBounds>& reserved,
                                const EdfBounds& device);
[[nodiscard]] Findings findings(const NamedSet& named, const Refusal& refusal,
                                const Reserved<std::vector<StageBounds>>& reserved);
[[nodiscard]] Finding end_to_end_finding(const NamedSet& named, const Refusal& refusal,
                                         const Reserved<EdfBounds>& reserved);
[[nodiscard]] Finding end_to_end_finding(const NamedSet& named, const Refusal& refusal,
                                         const Reserved<std::vector<StageBounds>>& reserved);

} // namespace rtexec::policies
