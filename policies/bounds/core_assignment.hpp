// Cores for tasks that name none: candidates for make_plan(), which proves one or takes the one that comes closest.
// Assumptions: proofs/partition-and-priorities.md.
#pragma once

#include <rtexec/resolved_set.hpp>

#include <functional>
#include <vector>

namespace rtexec::policies {

/// A core for each task of the set.
using CoreAssignment = std::vector<unsigned>;

/// Passes one assignment after the other to `take` until it returns true: at least one, at most five, all different. A
/// task that names a core keeps it. Every task has a wcet.
void core_assignments(const ResolvedSet& set, const std::function<bool(const CoreAssignment&)>& take);

} // namespace rtexec::policies
