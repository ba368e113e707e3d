// A job whose constants do not all stay on the device while it executes: they are loaded layer by layer, through a ring
// of frames of its own. Computes how long such a job takes, and which of its chunks should stay resident. Pure;
// formulas and proofs: proofs/streaming.md.
#pragma once

#include "policies/exact_arithmetic.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace rtexec::policies {

/// A piece of execution that begins only when its chunks are loaded, and whose end is observed: a segment, or a part of
/// one. It reads the chunks `begin` .. `end` - 1 of the task, which are numbered in the order of their first use.
/// Neither number decreases from a layer to the next, and no chunk is left out.
struct StreamLayer {
  Nanos time = 0; // with the overhead of its boundary
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

/// Costs of the copy-in engine. A load of another job uses the same engine; copies of the stream go first.
struct StreamCosts {
  Nanos copy = 0;      // of one chunk
  Nanos begin = 0;     // added to the first copy after an operation of the load
  Nanos resume = 0;    // of the load, when it continues after copies of the stream
  Nanos in_flight = 0; // of all operations in flight when a copy of the stream becomes possible
};

/// Returns the time of `operations` operations in flight, the last one of a load, each at most `longest`. Copies of the
/// stream and of the load may alternate.
[[nodiscard]] constexpr Nanos in_flight(unsigned operations, Nanos longest, Nanos begin, Nanos resume) {
  return bounded(Wide{longest} * operations + Wide{resume} * ((operations + 1) / 2) + Wide{begin} * (operations / 2));
}

struct StreamTimes {
  Nanos execution = 0; // C: of a job whose ring is loaded, alone or with a concurrent load
  Nanos copies = 0;    // S: the longest delay of that load
  friend bool operator==(const StreamTimes&, const StreamTimes&) = default;
};

/// Returns the times with a ring of `ring` frames, into which the first chunks were loaded before. Returns nullopt if a
/// layer reads more chunks than that.
[[nodiscard]] std::optional<StreamTimes> stream_times(std::span<const StreamLayer> layers, const StreamCosts& costs,
                                                      std::uint32_t ring);

/// Returns the fewest frames of a ring with which the execution is within `longest`, or nullopt if even all chunks do
/// not suffice.
[[nodiscard]] std::optional<std::uint32_t> min_ring(std::span<const StreamLayer> layers, const StreamCosts& costs,
                                                    Nanos longest);

/// Returns the layers of a task without the chunks `resident` (ascending), which are always on the device.
[[nodiscard]] std::vector<StreamLayer> without(std::span<const StreamLayer> layers,
                                               std::span<const std::uint32_t> resident);

struct StreamPlan {
  std::uint32_t ring = 0;
  std::vector<std::uint32_t> resident; // chunks, ascending
  StreamTimes times;
  /// A lower bound: no other choice of as many resident chunks has a shorter execution
  Nanos least = 0;
  /// Returns the number of frames: ring and resident chunks.
  [[nodiscard]] std::uint64_t memory() const { return ring + resident.size(); }
};

/// Returns a plan with `resident` resident chunks (all, if there are no more) and a short execution. It is the shortest
/// if it equals `least`, which holds if there are few chunks. Returns nullopt if no examined choice has enough frames
/// for every layer.
[[nodiscard]] std::optional<StreamPlan> keep_resident(std::span<const StreamLayer> layers, const StreamCosts& costs,
                                                      std::uint32_t ring, std::uint32_t resident);

/// Returns the plan with the least memory for which the execution is found to be within `longest`. Among these it has
/// the smallest ring, since each job waits for its ring to be loaded. Returns nullopt if there is none.
[[nodiscard]] std::optional<StreamPlan> min_memory(std::span<const StreamLayer> layers, const StreamCosts& costs,
                                                   Nanos longest);

} // namespace rtexec::policies
