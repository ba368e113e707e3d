// Places the buffers of a network whose execution is cut into segments. Buffers that live across a cut go to a block of
// their own, the carry, for all their life. All others go to scratch, which other tasks may overwrite between two
// segments. Pure.
//
// A layer is identified by the time at which it begins, on the time scale of the lifetimes. A segment ends at the
// beginning of the next layer. The first segment begins before all layers, and the last one ends after them.
#pragma once

#include "tasks/engine/graph/memory_plan.hpp"
#include <rtexec/workload.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rtexec::tasks {

struct SegmentPlan {
  MemoryPlan scratch, carry; // each has an entry for all buffers; size 0 for those in the other plan
  std::vector<bool> carried; // by buffer

  [[nodiscard]] std::size_t offset(std::size_t buffer) const {
    return carried[buffer] ? carry.offsets[buffer] : scratch.offsets[buffer];
  }
};

/// Plans the buffers for cuts after the layers `after`, in ascending order.
[[nodiscard]] SegmentPlan plan_segments(std::span<const Lifetime> lifetimes, std::span<const std::uint32_t> begins,
                                        std::span<const std::uint32_t> after);

/// Returns one object for each buffer of scratch.
[[nodiscard]] std::vector<MemoryObject> scratch_objects(std::span<const Lifetime> lifetimes, const SegmentPlan& plan);

/// Returns the ranges of the buffers that live across a boundary between layers.
[[nodiscard]] std::vector<LiveRange> live_ranges(std::span<const Lifetime> lifetimes,
                                                 std::span<const std::uint32_t> begins);

} // namespace rtexec::tasks
