// Adds the cost of memory bandwidth budgets to the task set that the analysis examines. A core with a budget may move a
// limited number of memory lines per period. Real-time parts on this core stall while its budget is used up, even if
// other threads used it up. Formulas, proof and assumptions about the counter: proofs/regulated-cores.md.
#pragma once

#include <rtexec/plan.hpp>
#include <rtexec/resolved_set.hpp>
#include "policies/bounds/findings.hpp"

#include <cstddef>
#include <span>

namespace rtexec::policies {

/// The charge for the stalls of one core with a budget: the overhead that the analysis adds. The number of memory lines
/// that the core's tasks move is not included, since each task specifies its own number.
struct StallCharge {
  RegulatedCore core;
  Bytes line{64};
};
/// Returns the charge for `budget`. Returns nullopt if stalls have no bound under these settings; add_regulation() then
/// reports the reason.
[[nodiscard]] std::optional<StallCharge> stall_charge(const CoreBudget& budget, const ResolvedSet& set);

/// Adds the stalls of each core with a budget to `named`, and the load of the thread that regulates the core. If the
/// stalls have no bound, sets `named.obstacle` to the reason. All other members of `named` must be set before the call.
/// `urgency`: the indices of all tasks of the set. The real-time tasks must have the same order as in `named`.
void add_regulation(NamedSet& named, const Plan& plan, const ResolvedSet& set, std::span<const std::size_t> urgency);

} // namespace rtexec::policies
