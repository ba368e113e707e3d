// What a memory bandwidth budget costs the real-time parts of its core: they stand still once it is used up, whoever
// did that. Formulas, proof and what is assumed of the counter: proofs/regulated-cores.md.
#pragma once

#include <rtexec/plan.hpp>
#include <rtexec/resolved_set.hpp>
#include "policies/bounds/findings.hpp"

#include <cstddef>
#include <span>

namespace rtexec::policies {

/// Of one core with a budget, beside what its tasks move. Absent: under these settings its stalls have no bound, for
/// the reason that add_regulation() gives.
struct StallCharge {
  RegulatedCore core;
  Bytes line{64};
};
[[nodiscard]] std::optional<StallCharge> stall_charge(const CoreBudget& budget, const ResolvedSet& set);

/// Adds stalls and the regulating thread to the cores of `named` that have a budget, or the reason why they cannot be
/// charged. `named`: otherwise complete. `urgency`: the task indices that it was made of.
void add_regulation(NamedSet& named, const Plan& plan, const ResolvedSet& set, std::span<const std::size_t> urgency);

} // namespace rtexec::policies
