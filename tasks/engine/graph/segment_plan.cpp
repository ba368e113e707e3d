#include "tasks/engine/graph/segment_plan.hpp"

#include <algorithm>

namespace rtexec::tasks {
namespace {

/// True if the buffer is alive both before and after the time `begin` at which a layer begins, and its contents must be
/// kept.
bool crosses(const Lifetime& lifetime, std::uint32_t begin) {
  return lifetime.size > 0 && lifetime.kept && lifetime.first < begin && begin <= lifetime.last;
}

/// Returns the number of the layer that executes at `time`. Returns 0 for a time before the first layer begins.
std::uint32_t layer_at(std::span<const std::uint32_t> begins, std::uint32_t time) {
  const auto begun = std::ranges::upper_bound(begins, time) - begins.begin();
  return static_cast<std::uint32_t>(std::max<std::ptrdiff_t>(begun, 1) - 1);
}

} // namespace

SegmentPlan plan_segments(std::span<const Lifetime> lifetimes, std::span<const std::uint32_t> begins,
                          std::span<const std::uint32_t> after) {
  SegmentPlan plan;
  std::vector<Lifetime> scratch(lifetimes.begin(), lifetimes.end()), carry = scratch;
  for (std::size_t i = 0; i < lifetimes.size(); ++i) {
    plan.carried.push_back(
        std::ranges::any_of(after, [&](std::uint32_t layer) { return crosses(lifetimes[i], begins[layer + 1]); }));
    (plan.carried[i] ? scratch : carry)[i].size = 0;
  }
  plan.scratch = plan_memory(scratch);
  plan.carry = plan_memory(carry);
  return plan;
}

std::vector<MemoryObject> scratch_objects(std::span<const Lifetime> lifetimes, const SegmentPlan& plan) {
  std::vector<MemoryObject> objects;
  for (std::size_t i = 0; i < lifetimes.size(); ++i)
    if (lifetimes[i].size > 0 && !plan.carried[i])
      objects.push_back({MemoryClass::scratch, {plan.scratch.offsets[i]}, {lifetimes[i].size}});
  return objects;
}

std::vector<LiveRange> live_ranges(std::span<const Lifetime> lifetimes, std::span<const std::uint32_t> begins) {
  std::vector<LiveRange> ranges;
  for (const Lifetime& lifetime : lifetimes) {
    const auto first = layer_at(begins, lifetime.first), last = layer_at(begins, lifetime.last);
    if (lifetime.size > 0 && lifetime.kept && first < last)
      ranges.push_back({Bytes{MemoryPlan::aligned(lifetime.size)}, first, last});
  }
  return ranges;
}

} // namespace rtexec::tasks
