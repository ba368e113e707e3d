// Plans the stream of a task: its constants are loaded while a job executes, through a ring of frames. The plan says
// where jobs are cut, which chunks each segment reads, and how many frames the ring has. streaming.hpp computes the
// costs. Set-up only: allocates.
#pragma once

#include <rtexec/plan.hpp>
#include "policies/segments/segment_cuts.hpp"
#include "policies/segments/streaming.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace rtexec::policies {

/// Returns ranges that contain those in `reads` and are in the order that a stream needs: neither end ever decreases,
/// and no chunk is left out. `reads`: the chunks that each layer reads, of `chunks` in all.
[[nodiscard]] std::vector<SlotRange> in_order(std::vector<SlotRange> reads, std::uint32_t chunks);

/// Returns the cuts of a stream: one before each layer that reads a chunk for the first time. `reads`: by layer, as
/// from in_order().
[[nodiscard]] Cuts stream_cuts(std::span<const SlotRange> reads);

/// Returns the chunks that each segment reads.
[[nodiscard]] std::vector<SlotRange> reads_of(std::span<const SlotRange> reads, const Cuts& cuts);

/// Returns the segments as the layers of a stream. `reads`: by segment.
[[nodiscard]] std::vector<StreamLayer> stream_layers(std::span<const Nanos> segments, std::span<const SlotRange> reads);

/// Returns the smallest ring with which a job takes at most an eighth longer than with the best ring. The load of the
/// ring counts as part of the job.
[[nodiscard]] std::uint32_t ring_for(std::span<const StreamLayer> layers, const StreamCosts& costs);

} // namespace rtexec::policies
