// Chooses cores for tasks that name none. It proposes candidates; make_plan() takes the first one with which the set is
// proved, or the one that comes closest. Assumptions: proofs/partition-and-priorities.md.
#pragma once

#include <rtexec/resolved_set.hpp>

#include <functional>
#include <vector>

namespace rtexec::policies {

/// A core for each task of the set.
using CoreAssignment = std::vector<unsigned>;

/// Passes candidate assignments to `take`, one by one, until it returns true. There are one to five, all different. A
/// task that names a core keeps it. Every task must have a wcet.
void core_assignments(const ResolvedSet& set, const std::function<bool(const CoreAssignment&)>& take);

} // namespace rtexec::policies
