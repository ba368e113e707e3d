// How a task's constants are streamed: where its jobs are cut for that, what each segment reads, and through how many
// frames the chunks go. What that takes: streaming.hpp. Set-up only: allocates.
#pragma once

#include <rtexec/plan.hpp>
#include "policies/segments/segment_cuts.hpp"
#include "policies/segments/streaming.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace rtexec::policies {

/// What layers read, of `chunks` in all, as a stream has it: neither end ever decreases, and no chunk is left out.
[[nodiscard]] std::vector<SlotRange> in_order(std::vector<SlotRange> reads, std::uint32_t chunks);

/// A cut before each layer that is the first to read a chunk. `reads`: by layer, in order.
[[nodiscard]] Cuts stream_cuts(std::span<const SlotRange> reads);

/// What each segment reads.
[[nodiscard]] std::vector<SlotRange> reads_of(std::span<const SlotRange> reads, const Cuts& cuts);

[[nodiscard]] std::vector<StreamLayer> stream_layers(std::span<const Nanos> segments, std::span<const SlotRange> reads);

/// The least ring with which loading it and the execution take at most an eighth more than with any.
[[nodiscard]] std::uint32_t ring_for(std::span<const StreamLayer> layers, const StreamCosts& costs);

} // namespace rtexec::policies
