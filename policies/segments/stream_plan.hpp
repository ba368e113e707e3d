// Plans the stream of a task. A *stream* loads the task's constants while a job executes, through a *ring*: a number of
// frames (physical chunks) that the constants use in turn. The plan states where jobs are cut, which chunks each
// segment reads, and how many frames the ring has. streaming.hpp computes the costs. Set-up only: allocates.
#pragma once

#include <rtexec/plan.hpp>
#include "policies/segments/segment_cuts.hpp"
#include "policies/segments/streaming.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace rtexec::policies {

/// Extends the ranges in `reads` so that they have the order that a stream needs: from one layer to the next, neither
/// begin nor end decreases, and no chunk is left out. `reads`: by layer, the chunks that the layer reads. `chunks`: the
/// number of chunks of the task.
[[nodiscard]] std::vector<SlotRange> in_order(std::vector<SlotRange> reads, std::uint32_t chunks);

/// Returns the cuts of a stream: one cut before each layer that reads a chunk for the first time. `reads`: by layer,
/// the result of in_order().
[[nodiscard]] Cuts stream_cuts(std::span<const SlotRange> reads);

/// Returns by segment the chunks that it reads. `reads`: by layer, the chunks that the layer reads.
[[nodiscard]] std::vector<SlotRange> reads_of(std::span<const SlotRange> reads, const Cuts& cuts);

/// Returns the segments as the layers of a stream. `segments`: by segment, its time. `reads`: by segment, its chunks.
[[nodiscard]] std::vector<StreamLayer> stream_layers(std::span<const Nanos> segments, std::span<const SlotRange> reads);

/// Returns the smallest ring with which a job takes at most 1/8 longer than with the ring that makes the job shortest.
/// The time to load the ring counts as a part of the job's time.
[[nodiscard]] std::uint32_t ring_for(std::span<const StreamLayer> layers, const StreamCosts& costs);

} // namespace rtexec::policies
