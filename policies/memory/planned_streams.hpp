// Plans the streams of a set's tasks. A *stream* loads constants while the job executes, through a *ring*: frames
// (physical chunks) that the constants use in turn. The plan states where jobs are cut, and how many frames each ring
// has. Set-up only: allocates.
#pragma once

#include <rtexec/plan.hpp>
#include <rtexec/resolved_set.hpp>
#include <rtexec/result.hpp>
#include "policies/device/segment_search.hpp"

#include <span>
#include <vector>

namespace rtexec::policies {

/// Returns `layered` with the stream and the cuts of each task that streams. `layered` must be in the order of the set.
/// A task does not stream if its ring would contain all its chunks. Returns bad_input if a specified ring is too small
/// for the chunks that a layer reads, or if the cost of copying is unknown.
[[nodiscard]] Result<std::vector<LayeredTask>> with_streams(const ResolvedSet& set,
                                                            std::span<const LayeredTask> layered);

void give_streams(Plan& plan, std::span<const LayeredTask> layered);

} // namespace rtexec::policies
