#include "policies/memory/planned_streams.hpp"

#include "config/base/text.hpp"
#include "policies/memory/plan_memory.hpp"
#include "policies/device/swap_charges.hpp"

#include <algorithm>
#include <string>

namespace rtexec::policies {
namespace {

/// Plans the cuts and the ring of a task whose constants are streamed.
Result<> plan_stream(LayeredTask& task, const Task& asked, const ResolvedSet& set) {
  const StoreKind store = set.store.empty() ? StoreKind::pinned : StoreKind::file;
  const auto cost = swap_cost(set, store);
  if (!cost) return Unexpected(cost.error());
  const std::uint32_t chunks = task.reads.back().end;
  const Cuts cuts = stream_cuts(task.reads);
  Stream stream{.ring = 0, .reads = reads_of(task.reads, cuts)};
  const std::uint32_t least = std::ranges::max(stream.reads, {}, &SlotRange::size).size();
  const auto layers = stream_layers(segments_of(task.layers, cuts), stream.reads);
  const StreamCosts costs = SwapCharges(*cost, set.board.copy_engines, std::span(&chunks, 1), false).stream();
  stream.ring = asked.stream_chunks ? std::min(*asked.stream_chunks, chunks) : ring_for(layers, costs);
  if (stream.ring < least)
    return fail(Errc::bad_input, "task '" + asked.name + "': stream_chunks is " + std::to_string(stream.ring) +
                                     ", but one of its layers reads " + std::to_string(least) + " chunks of " +
                                     to_string(set.chunk) +
                                     " at once; give at least as many, or a smaller [device] "
                                     "chunk");
  if (stream.ring == chunks) return task.streams = false, Result<>{};
  stream.execution = Duration(stream_times(layers, costs, stream.ring)->execution);
  task.given = segmentation_of(task.layers, cuts);
  task.stream = std::move(stream);
  return {};
}

} // namespace

Result<std::vector<LayeredTask>> with_streams(const ResolvedSet& set, std::span<const LayeredTask> layered) {
  std::vector<LayeredTask> tasks(layered.begin(), layered.end());
  for (std::size_t i = 0; i < tasks.size(); ++i)
    if (tasks[i].streams)
      if (const auto planned = plan_stream(tasks[i], set.tasks.tasks[i], set); !planned)
        return Unexpected(planned.error());
  return tasks;
}

void give_streams(Plan& plan, std::span<const LayeredTask> layered) {
  for (std::size_t i = 0; i < layered.size(); ++i) plan.tasks[i].stream = layered[i].stream;
}

} // namespace rtexec::policies
