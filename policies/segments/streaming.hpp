// A job whose constants do not all stay on the device while it executes: they come layer by layer, through a ring of
// frames of its own. What such a job takes, and which of its chunks are better kept. Pure; formulas and proofs:
// proofs/streaming.md.
#pragma once

#include "policies/exact_arithmetic.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace rtexec::policies {

/// What begins only when its chunks are there, and whose end is seen: a segment, or a part of one. It reads the chunks
/// `begin` .. `end` - 1 of the task, which are numbered in the order of their first use. Neither falls from a layer to
/// the next, and no chunk is left out.
struct StreamLayer {
  Nanos time = 0; // with its boundary's overhead
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

/// Of the engine that copies in, which a load beside the execution uses, too; copies of the stream go first.
struct StreamCosts {
  Nanos copy = 0;      // of one chunk
  Nanos begin = 0;     // besides, of the first copy after an operation of the load
  Nanos resume = 0;    // of the load, when it goes on after copies of the stream
  Nanos in_flight = 0; // of all operations, when a copy of the stream becomes possible
};

/// What `operations` take that are in flight, the last one of a load, each at most `longest`: they can take turns.
[[nodiscard]] constexpr Nanos in_flight(unsigned operations, Nanos longest, Nanos begin, Nanos resume) {
  return bounded(Wide{longest} * operations + Wide{resume} * ((operations + 1) / 2) + Wide{begin} * (operations / 2));
}

struct StreamTimes {
  Nanos execution = 0; // C: of the job whose ring is loaded, alone or beside a load
  Nanos copies = 0;    // S: by how much it delays that load at most
  friend bool operator==(const StreamTimes&, const StreamTimes&) = default;
};

/// With `ring` frames, into which the first chunks were loaded before. Absent: a layer reads more chunks than that.
[[nodiscard]] std::optional<StreamTimes> stream_times(std::span<const StreamLayer> layers, const StreamCosts& costs,
                                                      std::uint32_t ring);

/// The fewest frames of a ring with which the execution is within `longest`. Absent: it is not even with all chunks.
[[nodiscard]] std::optional<std::uint32_t> min_ring(std::span<const StreamLayer> layers, const StreamCosts& costs,
                                                    Nanos longest);

/// The layers as those of a task without these chunks (ascending), which are always on the device.
[[nodiscard]] std::vector<StreamLayer> without(std::span<const StreamLayer> layers,
                                               std::span<const std::uint32_t> resident);

struct StreamPlan {
  std::uint32_t ring = 0;
  std::vector<std::uint32_t> resident; // chunks, ascending
  StreamTimes times;
  /// No other choice of as many resident chunks has a shorter execution than this.
  Nanos least = 0;
  /// Frames, of both kinds.
  [[nodiscard]] std::uint64_t memory() const { return ring + resident.size(); }
};

/// Keeps `resident` chunks (all, where there are no more), so that the execution is short: it is the shortest where it
/// is `least`, as it is of few chunks. Absent: no choice that was looked at has frames enough for every layer.
[[nodiscard]] std::optional<StreamPlan> keep_resident(std::span<const StreamLayer> layers, const StreamCosts& costs,
                                                      std::uint32_t ring, std::uint32_t resident);

/// The least memory with which the execution is found to be within `longest`, and of it the smallest ring, since each
/// job waits for that to be loaded. Absent: none.
[[nodiscard]] std::optional<StreamPlan> min_memory(std::span<const StreamLayer> layers, const StreamCosts& costs,
                                                   Nanos longest);

} // namespace rtexec::policies
