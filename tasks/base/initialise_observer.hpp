// An observer of the initialisation of buffers. It is a plain struct of functions, so that no task depends on the
// observer. It is called during set-up, on the thread that initialises the buffer. Without an observer no tile is
// timed.
#pragma once

#include <rtexec/units.hpp>

#include <span>

namespace rtexec::tasks::initialise {

/// The times at which the stages of one tile begin and end, measured by the GPU's clock from the start of the first
/// prefetch. Without prefetching, both prefetch times equal the tile's `make_begin`.
struct TileTimes {
  Duration prefetch_begin{0}, prefetch_end{0}, make_begin{0}, make_end{0};
  friend bool operator==(const TileTimes&, const TileTimes&) = default;
};

/// The initialisation of one buffer. Instants are of CLOCK_MONOTONIC.
struct FirstContents {
  Bytes size;
  Instant begin{}, end{};
  // Members for a GPU
  Bytes tile{};                       // size of a tile; the last one may be smaller
  Instant tiles_begin{};              // the instant from which the times in `tiles` count
  std::span<const TileTimes> tiles{}; // valid during the call; empty: the host initialised the buffer
};

struct Observer {
  void (*made)(void* self, const FirstContents& contents) noexcept = nullptr;
  void* self = nullptr;
};

} // namespace rtexec::tasks::initialise
