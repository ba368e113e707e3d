#include "rtexec/runtime/executive/contents_trace.hpp"

#include "traces/emit.hpp"

#include <algorithm>

namespace rtexec::executive {

void trace_first_contents(std::uint32_t task, std::uint32_t buffer,
                          const tasks::initialise::FirstContents& contents) noexcept {
  traces::first_contents(task, buffer, contents.size, static_cast<std::uint32_t>(contents.tiles.size()), contents.begin,
                         contents.end);
  Bytes left = contents.size;
  for (std::uint32_t i = 0; i < contents.tiles.size(); ++i) {
    const Bytes size = std::min(contents.tile, left);
    const auto& times = contents.tiles[i];
    const auto at = [&](Duration time) { return contents.tiles_begin + time; };
    traces::first_contents_tile(task, buffer, i, size, at(times.prefetch_begin), at(times.prefetch_end),
                                at(times.make_begin), at(times.make_end));
    left = left - size;
  }
}

} // namespace rtexec::executive
