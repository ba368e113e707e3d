// The cost of a memory bandwidth budget for the real-time parts of its core: they stall once the budget is used up,
// whoever used it up. Formulas, proof and assumptions about the counter: proofs/regulated-cores.md.
#pragma once

#include <rtexec/plan.hpp>
#include <rtexec/resolved_set.hpp>
#include "policies/bounds/findings.hpp"

#include <cstddef>
#include <span>

namespace rtexec::policies {

/// The charge of one core with a budget, without the lines that its tasks move. stall_charge() returns nullopt if
/// stalls have no bound under these settings; add_regulation() gives the reason.
struct StallCharge {
  RegulatedCore core;
  Bytes line{64};
};
[[nodiscard]] std::optional<StallCharge> stall_charge(const CoreBudget& budget, const ResolvedSet& set);

/// Adds stalls and the regulating thread to the cores of `named` that have a budget, or the reason why they cannot be
/// charged. `named` must be complete otherwise. `urgency`: the task indices from which `named` was made.
void add_regulation(NamedSet& named, const Plan& plan, const ResolvedSet& set, std::span<const std::size_t> urgency);

} // namespace rtexec::policies
