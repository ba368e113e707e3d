// Places the buffers of a network whose execution is cut into segments. A buffer that lives across a cut is in a block
// of its own, the carry, for its whole life. All other buffers are in scratch, which other tasks may overwrite between
// two segments. Pure functions.
//
// A layer is identified by the time at which it begins, on the time scale of the lifetimes. A segment ends when the
// next segment's first layer begins. The first segment begins before all layers, and the last one ends after them.
#pragma once

#include "tasks/engine/graph/memory_plan.hpp"
#include <rtexec/workload.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rtexec::tasks {

struct SegmentPlan {
  MemoryPlan scratch, carry; // both have an entry for each buffer; its size is 0 in the other plan
  std::vector<bool> carried; // by buffer

  [[nodiscard]] std::size_t offset(std::size_t buffer) const {
    return carried[buffer] ? carry.offsets[buffer] : scratch.offsets[buffer];
  }
};

/// Plans the buffers for cuts after the layers `after`, which ascend. `begins` holds the begin of each layer.
[[nodiscard]] SegmentPlan plan_segments(std::span<const Lifetime> lifetimes, std::span<const std::uint32_t> begins,
                                        std::span<const std::uint32_t> after);

/// Returns one object for each buffer of scratch.
[[nodiscard]] std::vector<MemoryObject> scratch_objects(std::span<const Lifetime> lifetimes, const SegmentPlan& plan);

/// Returns one range for each buffer that lives across a boundary between layers.
[[nodiscard]] std::vector<LiveRange> live_ranges(std::span<const Lifetime> lifetimes,
                                                 std::span<const std::uint32_t> begins);

} // namespace rtexec::tasks
