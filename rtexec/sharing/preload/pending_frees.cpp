#include "rtexec/sharing/preload/pending_frees.hpp"

#include <algorithm>

namespace rtexec::preload {

using client::Arena;
using hal::cuda::Code;
using hal::cuda::Stream;

bool PendingFrees::has(Bytes offset) const noexcept {
  return std::ranges::any_of(frees_, [&](const Free& free) { return free.block.offset == offset; });
}

void PendingFrees::reclaim(const RealDriver& driver, Arena& arena) noexcept {
  // The last examined stream with an unfinished free. Later frees of this stream are unfinished, too.
  std::optional<Stream> behind;
  std::erase_if(frees_, [&](const Free& free) {
    if (free.stream && free.stream == behind) return false;
    if (driver.event_query(free.when) == Code::not_ready) {
      behind = free.stream;
      return false;
    }
    (void)driver.event_destroy(free.when);
    arena.free(free.block.offset);
    return true;
  });
}

std::optional<Arena::Block> PendingFrees::reuse(const RealDriver& driver, Arena& arena, Bytes size, Stream stream) {
  auto best = frees_.end();
  for (auto each = frees_.begin(); each != frees_.end(); ++each) {
    if (each->stream != stream || each->block.size < size) continue;
    if (best == frees_.end() || each->block.size < best->block.size) best = each;
  }
  if (best == frees_.end()) return {};
  if (!arena.split(best->block.offset, size)) {
    const Arena::Block all = best->block;
    (void)driver.event_destroy(best->when);
    frees_.erase(best);
    return all;
  }
  const auto taken = arena.find(best->block.offset);
  best->block = {best->block.offset + taken->size, best->block.size - taken->size};
  return taken;
}

std::optional<PendingFrees::Free> PendingFrees::oldest() noexcept {
  if (frees_.empty()) return {};
  const Free free = frees_.front();
  frees_.erase(frees_.begin());
  return free;
}

void PendingFrees::forget(Stream stream) noexcept {
  for (auto& each : frees_) {
    if (each.stream == stream) each.stream.reset();
  }
}

} // namespace rtexec::preload
