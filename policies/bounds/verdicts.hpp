// Makes the findings of the admission tests: whether the set passes, which task or instant has the least slack, and
// this slack.
#pragma once

#include "policies/bounds/findings.hpp"

#include <optional>
#include <span>
#include <vector>

namespace rtexec::policies {

/// A finding that refuses a set before any test, because no test covers the set or because the device has too much
/// work. nullopt: the set is not refused.
using Refusal = std::optional<Finding>;
/// Returns the finding that refuses `named`, or nullopt if the tests have to decide.
[[nodiscard]] Refusal refused(const NamedSet& named);

struct Findings {
  Finding device;             // the test of the device alone
  std::vector<Finding> cores; // one for each core that has tasks, by core number
  Finding end_to_end;
};

// The next two functions return the findings of all tests. `refusal`: the result of refused() for `named`.
[[nodiscard]] Findings findings(const NamedSet& named, const Refusal& refusal, const EdfBounds& bounds);
[[nodiscard]] Findings findings(const NamedSet& named, const Refusal& refusal, std::span<const StageBounds> bounds);

/// The next two functions return only `Findings::end_to_end`.
[[nodiscard]] Finding end_to_end_finding(const NamedSet& named, const Refusal& refusal, const EdfBounds& bounds);
[[nodiscard]] Finding end_to_end_finding(const NamedSet& named, const Refusal& refusal,
                                         std::span<const StageBounds> bounds);

// The following functions are for sets whose CPU parts have reservations; `named.services` must be present. If no
// windows of reservations fit, the end-to-end finding names a task whose deadline is too short for its parts, or a core
// without enough time.
/// `device`: the bounds from which the finding Findings::device is made. This finding is made even if no windows fit.
[[nodiscard]] Findings findings(const NamedSet& named, const Refusal& refusal, const Reserved<EdfBounds>& reserved,
                                const EdfBounds& device);
[[nodiscard]] Findings findings(const NamedSet& named, const Refusal& refusal,
                                const Reserved<std::vector<StageBounds>>& reserved);
[[nodiscard]] Finding end_to_end_finding(const NamedSet& named, const Refusal& refusal,
                                         const Reserved<EdfBounds>& reserved);
[[nodiscard]] Finding end_to_end_finding(const NamedSet& named, const Refusal& refusal,
                                         const Reserved<std::vector<StageBounds>>& reserved);

} // namespace rtexec::policies
