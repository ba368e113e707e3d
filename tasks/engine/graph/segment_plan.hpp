// Places the buffers of a network whose execution is cut into segments. The carry is the memory block that is preserved
// across preemption. A buffer that lives across a cut is in the carry for its whole life. All other buffers are in
// scratch, which other tasks may overwrite between two segments. Pure functions.
//
// `begins` holds the time at which each layer begins, in ascending order, on the time scale of the lifetimes. A segment
// ends when the next segment's first layer begins. The first segment begins before all layers, and the last segment
// ends after all layers.
#pragma once

#include "tasks/engine/graph/memory_plan.hpp"
#include <rtexec/workload.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rtexec::tasks {

struct SegmentPlan {
  /// Each plan has an offset for every buffer; it is meaningless for a buffer of the other plan.
  MemoryPlan scratch, carry;
  std::vector<bool> carried; // for each buffer: true if the buffer is in the carry

  [[nodiscard]] std::size_t offset(std::size_t buffer) const {
    return carried[buffer] ? carry.offsets[buffer] : scratch.offsets[buffer];
  }
};

/// Plans the buffers for cuts after the layers whose numbers `after` holds in ascending order.
[[nodiscard]] SegmentPlan plan_segments(std::span<const Lifetime> lifetimes, std::span<const std::uint32_t> begins,
                                        std::span<const std::uint32_t> after);

/// Returns a memory object for each buffer of scratch.
[[nodiscard]] std::vector<MemoryObject> scratch_objects(std::span<const Lifetime> lifetimes, const SegmentPlan& plan);

/// Returns the range of layers for each buffer that lives across a boundary between layers.
[[nodiscard]] std::vector<LiveRange> live_ranges(std::span<const Lifetime> lifetimes,
                                                 std::span<const std::uint32_t> begins);

} // namespace rtexec::tasks
