// How a task's constants are streamed: where its jobs are cut, what each segment reads, and how many frames the ring
// has. streaming.hpp computes what that costs. Set-up only: allocates.
#pragma once

#include <rtexec/plan.hpp>
#include "policies/segments/segment_cuts.hpp"
#include "policies/segments/streaming.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace rtexec::policies {

/// Returns `reads`, by layer, of `chunks` chunks in all, as a stream needs them: neither end ever decreases, and no
/// chunk is left out.
[[nodiscard]] std::vector<SlotRange> in_order(std::vector<SlotRange> reads, std::uint32_t chunks);

/// Returns a cut before each layer that is the first to read a chunk. `reads`: by layer, in order.
[[nodiscard]] Cuts stream_cuts(std::span<const SlotRange> reads);

/// Returns what each segment reads.
[[nodiscard]] std::vector<SlotRange> reads_of(std::span<const SlotRange> reads, const Cuts& cuts);

[[nodiscard]] std::vector<StreamLayer> stream_layers(std::span<const Nanos> segments, std::span<const SlotRange> reads);

/// Returns the smallest ring for which its load and the execution take at most an eighth more than with the best ring.
[[nodiscard]] std::uint32_t ring_for(std::span<const StreamLayer> layers, const StreamCosts& costs);

} // namespace rtexec::policies
