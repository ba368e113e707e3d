// Chooses cores for tasks that name none. This file proposes candidate assignments. make_plan() takes the first
// assignment with which the set is proved. If none proves the set, make_plan() takes the assignment with the largest
// slack. Assumptions: proofs/partition-and-priorities.md.
#pragma once

#include <rtexec/resolved_set.hpp>

#include <functional>
#include <vector>

namespace rtexec::policies {

/// A core for each task of the set.
using CoreAssignment = std::vector<unsigned>;

/// Passes candidate assignments to `take`, one by one, until `take` returns true. There are one to five candidates, all
/// different. A task that names a core keeps that core. Every task must have a wcet.
void core_assignments(const ResolvedSet& set, const std::function<bool(const CoreAssignment&)>& take);

} // namespace rtexec::policies
