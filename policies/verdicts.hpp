// The admission tests, each as a finding: what limits the set, and by how much.
#pragma once

#include "policies/findings.hpp"
#include "policies/reservations.hpp"

#include <span>
#include <vector>

namespace rtexec::policies {

/// Whether an obstacle, or too much work for the device, refuses the set without any test.
[[nodiscard]] bool refused_untested(const NamedSet& named);

/// The device alone.
[[nodiscard]] Finding demand_finding(const NamedSet& named, const EdfBounds& bounds);
[[nodiscard]] Finding response_finding(const NamedSet& named);
/// One per core that has tasks, by core number.
[[nodiscard]] std::vector<Finding> core_findings(const NamedSet& named);
[[nodiscard]] Finding end_to_end_finding(const NamedSet& named, const EdfBounds& bounds);
[[nodiscard]] Finding end_to_end_finding(const NamedSet& named, std::span<const StageBounds> bounds);

// For reservations.
[[nodiscard]] std::vector<Finding> core_findings(const NamedSet& named, const ServiceThread& service);
/// Where no windows fit: a deadline is too short for its parts, or a core has too little to give.
[[nodiscard]] Finding misfit_finding(const NamedSet& named, const ServiceThread& service);
template <class Bounds>
[[nodiscard]] Finding end_to_end_finding(const NamedSet& named, const ServiceThread& service,
                                         const Reserved<Bounds>& reserved) {
  return reserved.fits ? end_to_end_finding(named, reserved.bounds) : misfit_finding(named, service);
}

} // namespace rtexec::policies
