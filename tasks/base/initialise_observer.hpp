// Who looks on while buffers get their first contents: a plain struct of functions, so that no task depends on who
// listens. Called during set-up, on the thread that makes them. Without an observer no tile is timed.
#pragma once

#include <rtexec/units.hpp>

#include <span>

namespace rtexec::tasks::initialise {

/// Since the first prefetch was begun, by the GPU's clock. Without prefetching both of its times are those of the
/// tile's begin.
struct TileTimes {
  Duration prefetch_begin{0}, prefetch_end{0}, make_begin{0}, make_end{0};
  friend bool operator==(const TileTimes&, const TileTimes&) = default;
};

/// Of a buffer. Instants are of CLOCK_MONOTONIC.
struct FirstContents {
  Bytes size;
  Instant begin{}, end{};
  // On a GPU
  Bytes tile{};                       // its size, but for the last one's
  Instant tiles_begin{};              // their times count from then
  std::span<const TileTimes> tiles{}; // during the call; none: the host made all
};

struct Observer {
  void (*made)(void* self, const FirstContents& contents) noexcept = nullptr;
  void* self = nullptr;
};

} // namespace rtexec::tasks::initialise
