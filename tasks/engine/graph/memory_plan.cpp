#include "tasks/engine/graph/memory_plan.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace rtexec::tasks {
namespace {

bool together(const Lifetime& a, const Lifetime& b) { return a.first <= b.last && b.first <= a.last; }

struct Placed {
  std::size_t begin, end;
  const Lifetime* lifetime;
};

/// Returns the offset of the tightest gap that has room for `size` among the buffers in `placed` that are alive at the
/// same time as `lifetime`. If there is no such gap, returns the offset after all of these buffers. `placed` must be
/// sorted by begin.
std::size_t best_fit(const std::vector<Placed>& placed, const Lifetime& lifetime, std::size_t size) {
  std::size_t best = 0, best_gap = std::numeric_limits<std::size_t>::max(), end = 0;
  for (const auto& other : placed) {
    if (!together(*other.lifetime, lifetime)) continue;
    if (other.begin > end && other.begin - end >= size && other.begin - end < best_gap) {
      best_gap = other.begin - end;
      best = end;
    }
    end = std::max(end, other.end);
  }
  return best_gap == std::numeric_limits<std::size_t>::max() ? end : best;
}

std::size_t peak(std::span<const Lifetime> lifetimes) {
  struct Change {
    std::uint64_t at;
    bool begins;
    std::size_t size;
  };
  std::vector<Change> changes;
  for (const auto& lifetime : lifetimes) {
    changes.push_back({lifetime.first, true, MemoryPlan::aligned(lifetime.size)});
    changes.push_back({std::uint64_t{lifetime.last} + 1, false, MemoryPlan::aligned(lifetime.size)});
  }
  std::ranges::sort(changes,
                    [](const Change& a, const Change& b) { return a.at != b.at ? a.at < b.at : a.begins < b.begins; });
  std::size_t live = 0, most = 0;
  for (const auto& change : changes) {
    live = change.begins ? live + change.size : live - change.size;
    most = std::max(most, live);
  }
  return most;
}

/// Places the buffers in the order `order`. Stores the result in `plan` and returns true if the resulting block is
/// smaller than the block of `plan`. Otherwise returns false as soon as that is certain.
bool place(std::span<const Lifetime> lifetimes, const std::vector<std::size_t>& order, MemoryPlan& plan) {
  std::vector<std::size_t> offsets(lifetimes.size(), 0);
  std::vector<Placed> placed;
  std::size_t end = 0;
  for (const auto i : order) {
    const auto size = MemoryPlan::aligned(lifetimes[i].size);
    if (size == 0) continue;
    const auto begin = best_fit(placed, lifetimes[i], size);
    offsets[i] = begin;
    end = std::max(end, begin + size);
    if (end >= plan.size) return false;
    const auto position = std::ranges::upper_bound(placed, begin, {}, &Placed::begin);
    placed.insert(position, {begin, begin + size, &lifetimes[i]});
  }
  plan.offsets = std::move(offsets);
  plan.size = end;
  return true;
}

/// Returns the indices 0 to `count` - 1 of buffers, sorted by descending key.
template <class Key> std::vector<std::size_t> by_descending(std::size_t count, Key key) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater<>{}, key);
  return order;
}

} // namespace

MemoryPlan plan_memory(std::span<const Lifetime> lifetimes) {
  constexpr auto unplanned = std::numeric_limits<std::size_t>::max();
  MemoryPlan plan{std::vector<std::size_t>(lifetimes.size(), 0), unplanned, peak(lifetimes)};
  const auto length = [&](std::size_t i) { return static_cast<double>(lifetimes[i].last - lifetimes[i].first) + 1; };
  const auto try_order = [&](auto key) {
    if (plan.size > plan.lower_bound) (void)place(lifetimes, by_descending(lifetimes.size(), key), plan);
  };
  try_order([&](std::size_t i) { return lifetimes[i].size; });
  try_order([&](std::size_t i) { return static_cast<double>(lifetimes[i].size) * length(i); });
  try_order(length);
  try_order([&](std::size_t i) { return -static_cast<double>(lifetimes[i].first); });
  return plan;
}

} // namespace rtexec::tasks
