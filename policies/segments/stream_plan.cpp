#include "policies/segments/stream_plan.hpp"

#include <algorithm>
#include <utility>

namespace rtexec::policies {

std::vector<SlotRange> in_order(std::vector<SlotRange> reads, std::uint32_t chunks) {
  std::uint32_t begin = chunks;
  for (std::size_t j = reads.size(); j-- > 0;) {
    if (reads[j].size() > 0) begin = std::min(begin, reads[j].begin);
    reads[j].begin = begin;
  }
  std::uint32_t end = 0;
  for (SlotRange& each : reads) {
    each.begin = std::min(each.begin, end);
    each.end = end = std::max(each.end, end);
  }
  if (!reads.empty()) reads.back().end = chunks;
  return reads;
}

Cuts stream_cuts(std::span<const SlotRange> reads) {
  Cuts cuts;
  for (std::uint32_t j = 1; j < reads.size(); ++j)
    if (reads[j].end > reads[j - 1].end) cuts.push_back(j - 1);
  return cuts;
}

std::vector<SlotRange> reads_of(std::span<const SlotRange> reads, const Cuts& cuts) {
  std::vector<SlotRange> result;
  std::uint32_t first = 0;
  const auto end_at = [&](std::uint32_t last) {
    result.push_back({reads[first].begin, reads[last].end});
    first = last + 1;
  };
  for (const std::uint32_t cut : cuts) end_at(cut);
  end_at(static_cast<std::uint32_t>(reads.size() - 1));
  return result;
}

std::vector<StreamLayer> stream_layers(std::span<const Nanos> segments, std::span<const SlotRange> reads) {
  std::vector<StreamLayer> layers;
  for (std::size_t j = 0; j < segments.size(); ++j) layers.push_back({segments[j], reads[j].begin, reads[j].end});
  return layers;
}

std::uint32_t ring_for(std::span<const StreamLayer> layers, const StreamCosts& costs) {
  /// By size of the ring: the time to load the ring and then to execute a job alone
  std::vector<std::pair<Nanos, std::uint32_t>> alone;
  Nanos least = unbounded;
  for (std::uint32_t ring = 1; ring <= layers.back().end; ++ring) {
    const auto times = stream_times(layers, costs, ring);
    if (!times) continue;
    alone.emplace_back(bounded(Wide{times->execution} + Wide{costs.copy} * ring), ring);
    least = std::min(least, alone.back().first);
  }
  const auto close = [&](const auto& each) { return each.first <= bounded(Wide{least} + least / 8); };
  return std::ranges::find_if(alone, close)->second;
}

} // namespace rtexec::policies
