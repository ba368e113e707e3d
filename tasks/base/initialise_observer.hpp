// An observer of the initialisation of buffers. A GPU initialises a buffer in tiles: each tile is prefetched to the
// device, then filled (tiled.hpp). Observer is a function pointer with its argument, so that tasks do not depend on the
// code that observes. The function is called during set-up, on the thread that initialises the buffer. If there is no
// observer, no tile is timed.
#pragma once

#include <rtexec/units.hpp>

#include <span>

namespace rtexec::tasks::initialise {

/// The times at which the prefetch and the filling (`make`) of one tile begin and end, measured by the GPU's clock.
/// They count from the start of the first prefetch. Without prefetching, they count from the first `make_begin`, and
/// both prefetch times of a tile equal its `make_begin`.
struct TileTimes {
  Duration prefetch_begin{0}, prefetch_end{0}, make_begin{0}, make_end{0};
  friend bool operator==(const TileTimes&, const TileTimes&) = default;
};

/// The initialisation of one buffer. Instants are in CLOCK_MONOTONIC.
struct FirstContents {
  Bytes size;
  Instant begin{}, end{};
  // The members below are for buffers that a GPU initialises.
  Bytes tile{};                       // size of a tile; the last tile may be smaller
  Instant tiles_begin{};              // the instant from which the times in `tiles` count
  std::span<const TileTimes> tiles{}; // valid during the call of `made`; empty if the host initialised the buffer
};

struct Observer {
  void (*made)(void* self, const FirstContents& contents) noexcept = nullptr;
  void* self = nullptr;
};

} // namespace rtexec::tasks::initialise
