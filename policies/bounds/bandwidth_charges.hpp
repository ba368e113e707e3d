// Adds the cost of memory bandwidth budgets to the task set that the analysis examines. Real-time parts on a core stall
// while the core's budget is used up, even if other threads used it up. Formulas, proof and assumptions about the
// counter: proofs/regulated-cores.md.
#pragma once

#include <rtexec/plan.hpp>
#include <rtexec/resolved_set.hpp>
#include "policies/bounds/findings.hpp"

#include <cstddef>
#include <span>

namespace rtexec::policies {

/// The charge for the stalls of one core with a budget. The number of cache lines that the tasks of the core move is
/// not included: each task states its own number.
struct StallCharge {
  RegulatedCore core;
  Bytes line{64};
};
/// Returns the charge for `budget`. Returns nullopt if stalls have no bound under these settings; add_regulation() then
/// reports the reason.
[[nodiscard]] std::optional<StallCharge> stall_charge(const CoreBudget& budget, const ResolvedSet& set);

/// Adds the stalls of each core with a budget, and the load of the thread that regulates the core, to `named`. If the
/// stalls cannot be charged, sets `named.obstacle` to the reason. All other members of `named` must be set before the
/// call. `urgency`: the task indices from which `named` was made.
void add_regulation(NamedSet& named, const Plan& plan, const ResolvedSet& set, std::span<const std::size_t> urgency);

} // namespace rtexec::policies
