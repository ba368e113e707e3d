// Where the buffers of a network lie whose execution is cut into segments: what lives across a cut in a block of its
// own, the carry, for all its life; all else in scratch, which others may write to between two segments. Pure.
//
// Layers are told by the time at which each begins, on the scale of the lifetimes. A segment ends where the next
// layer begins; the first one begins before all layers, and the last one ends behind them.
#pragma once

#include "tasks/engine/graph/memory_plan.hpp"
#include <rtexec/workload.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rtexec::tasks {

struct SegmentPlan {
  MemoryPlan scratch, carry; // each of all buffers, those of the other one with no size
  std::vector<bool> carried; // by buffer

  [[nodiscard]] std::size_t offset(std::size_t buffer) const {
    return carried[buffer] ? carry.offsets[buffer] : scratch.offsets[buffer];
  }
};

/// Cuts `after` these layers, ascending.
[[nodiscard]] SegmentPlan plan_segments(std::span<const Lifetime> lifetimes, std::span<const std::uint32_t> begins,
                                        std::span<const std::uint32_t> after);

/// Each buffer of scratch.
[[nodiscard]] std::vector<MemoryObject> scratch_objects(std::span<const Lifetime> lifetimes, const SegmentPlan& plan);

/// Of the buffers that live across a boundary between layers.
[[nodiscard]] std::vector<LiveRange> live_ranges(std::span<const Lifetime> lifetimes,
                                                 std::span<const std::uint32_t> begins);

} // namespace rtexec::tasks
