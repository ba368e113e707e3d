#include "rtexec/runtime/planning/task_layers.hpp"

#include <algorithm>
#include <numeric>

namespace rtexec::executive {
namespace {

using policies::Layers;
using policies::Nanos;
using policies::Wide;

std::vector<MeasuredLayers::Piece> known_pieces(const Task& task, const ProfileEntry* entry) {
  if (task.workload != WorkloadKind::synthetic)
    return entry != nullptr ? entry->layers.each : decltype(entry->layers.each)();
  std::vector<MeasuredLayers::Piece> pieces;
  if (!task.layers) return pieces;
  for (const Duration each : task.layers->of(task.wcet->device))
    pieces.push_back({static_cast<std::uint32_t>(pieces.size()), each});
  return pieces;
}

/// Returns each piece's share of the WCET, in proportion to its longest execution and rounded up.
std::vector<Nanos> shares_of(const std::vector<MeasuredLayers::Piece>& pieces, Duration wcet) {
  Wide sum = 0;
  for (const auto& piece : pieces) sum += piece.longest.count();
  std::vector<Nanos> shares;
  for (const auto& piece : pieces)
    shares.push_back(static_cast<Nanos>((Wide{piece.longest.count()} * wcet.count() + sum - 1) / sum));
  return shares;
}

/// Returns the live ranges with numbers of pieces instead of numbers of layers. Excludes a range that lies within one
/// piece, because no cut can divide this range. `last_layer` holds the last layer of each piece.
std::vector<policies::Tensor> in_pieces(const std::vector<LiveRange>& ranges,
                                        const std::vector<std::uint32_t>& last_layer) {
  const auto piece_of = [&](std::uint32_t layer) {
    return static_cast<std::uint32_t>(std::ranges::lower_bound(last_layer, layer) - last_layer.begin());
  };
  std::vector<policies::Tensor> tensors;
  for (const LiveRange& range : ranges) {
    const auto first = piece_of(range.first), last = piece_of(range.last);
    if (first < last) tensors.push_back({range.size, first, last});
  }
  return tensors;
}

/// Returns the range of chunks of constants that each piece reads, by piece. `ranges` holds the constants that each
/// layer reads.
std::vector<SlotRange> in_chunks(const std::vector<ConstantRange>& ranges, const std::vector<std::uint32_t>& last_layer,
                                 Bytes constants, Bytes chunk) {
  const auto chunk_of = [&](Bytes offset) { return static_cast<std::uint32_t>(offset.count / chunk.count); };
  const auto chunks_to = [&](Bytes end) { return chunk_of(round_up(end, chunk)); };
  std::vector<SlotRange> reads;
  std::uint32_t layer = 0;
  for (const std::uint32_t last : last_layer) {
    SlotRange read{.begin = chunks_to(constants), .end = 0};
    for (; layer <= last; ++layer) {
      if (ranges[layer].begin == ranges[layer].end) continue;
      read = {std::min(read.begin, chunk_of(ranges[layer].begin)), std::max(read.end, chunks_to(ranges[layer].end))};
    }
    reads.push_back(read.end == 0 ? SlotRange{} : read);
  }
  return policies::in_order(std::move(reads), chunks_to(constants));
}

} // namespace

TaskLayers task_layers(const Task& task, const Workload& workload, const ProfileEntry* entry, Bytes chunk,
                       std::uint32_t launch_ahead) {
  TaskLayers result;
  result.layered.device_class = task.device_class;
  Layers& layers = result.layered.layers;
  layers.times = {task.wcet->device.count()};
  if (!task.wcet->uses_device() || task.segments == 1) return result;
  if (workload.layers().size() < 2) return result.obstacle = "its workload has no layers", result;
  const std::vector<MeasuredLayers::Piece> pieces = known_pieces(task, entry);
  if (pieces.empty()) {
    result.obstacle = "the execution times of its layers are not known; measure them with `rtexec profile`";
    return result;
  }
  if (pieces.size() < 2 || pieces.back().last_layer + 1 != workload.layers().size()) return result;
  for (const auto& piece : pieces) result.last_layer.push_back(piece.last_layer);
  layers.times = shares_of(pieces, task.wcet->device);
  layers.overheads.assign(pieces.size() - 1, 0);
  layers.tensors = in_pieces(workload.live_ranges(), result.last_layer);
  const std::vector<ConstantRange> ranges = workload.constant_ranges();
  const bool may_stream = task.constants != Constants::whole && !ranges.empty() && !task.swap_volume;
  if (may_stream && workload.memory().constant > chunk)
    result.layered.reads = in_chunks(ranges, result.last_layer, workload.memory().constant, chunk);
  result.layered.streams = task.constants == Constants::streamed;
  if (task.segments)
    result.layered.given = policies::cut_into(layers, *task.segments, launch_ahead).segmentations.front();
  return result;
}

std::vector<std::uint32_t> as_layers(std::span<const std::uint32_t> cuts, std::span<const std::uint32_t> last_layer) {
  std::vector<std::uint32_t> layers;
  for (const std::uint32_t cut : cuts) layers.push_back(last_layer[cut]);
  return layers;
}

} // namespace rtexec::executive
