// The cost of a memory bandwidth budget for the real-time parts of its core: they stall once the budget is used up,
// whoever used it up. Formulas, proof and assumptions about the counter: proofs/regulated-cores.md.
#pragma once

#include <rtexec/plan.hpp>
#include <rtexec/resolved_set.hpp>
#include "policies/bounds/findings.hpp"

#include <cstddef>
#include <span>

namespace rtexec::policies {

/// The charge for the stalls of one core with a budget. It leaves out the cache lines that tasks of the core move,
/// which each task states.
struct StallCharge {
  RegulatedCore core;
  Bytes line{64};
};
/// Returns the charge for `budget`, or nullopt if stalls have no bound under these settings; add_regulation() gives the
/// reason.
[[nodiscard]] std::optional<StallCharge> stall_charge(const CoreBudget& budget, const ResolvedSet& set);

/// Charges each core with a budget: adds its stalls, and the load of the thread that regulates it, to `named`. If they
/// cannot be charged, sets `named.obstacle` to the reason. `named` must be complete otherwise. `urgency`: the task
/// indices from which `named` was made.
void add_regulation(NamedSet& named, const Plan& plan, const ResolvedSet& set, std::span<const std::size_t> urgency);

} // namespace rtexec::policies
