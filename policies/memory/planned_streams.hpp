// The tasks of a set whose constants are streamed: how their jobs are cut for that, and through how many frames they
// go. Set-up only: allocates.
#pragma once

#include <rtexec/plan.hpp>
#include <rtexec/resolved_set.hpp>
#include <rtexec/result.hpp>
#include "policies/device/segment_search.hpp"

#include <span>
#include <vector>

namespace rtexec::policies {

/// With the stream and the cuts of each task that streams; one whose ring would hold all its chunks streams nothing.
/// `layered`: by task of the set. bad_input: a ring that is given has no room for what a layer reads, or what copying
/// costs is not known.
[[nodiscard]] Result<std::vector<LayeredTask>> with_streams(const ResolvedSet& set,
                                                            std::span<const LayeredTask> layered);

void give_streams(Plan& plan, std::span<const LayeredTask> layered);

} // namespace rtexec::policies
