// Jobs that keep only some of their constants on the device. A job loads the other constants layer by layer while it
// executes, through its own ring of frames (physical chunks). This file computes how long such a job takes, and which
// of its chunks should stay resident. Pure; formulas and proofs: proofs/streaming.md.
#pragma once

#include "policies/exact_arithmetic.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace rtexec::policies {

/// A segment, or a part of one, for streaming. It begins only when its chunks are loaded, and its end is observed. It
/// reads the chunks `begin` .. `end` - 1 of the task, numbered in the order of their first use. Neither `begin` nor
/// `end` decreases from one layer to the next, and no chunk is left out.
struct StreamLayer {
  Nanos time = 0; // including the overhead of the boundary that ends it
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

/// Costs of the copy-in engine. Loads for other jobs use the same engine, but copies of the stream go first.
struct StreamCosts {
  Nanos copy = 0;      // the time to copy one chunk
  Nanos begin = 0;     // added to the first copy of the stream after an operation of the load
  Nanos resume = 0;    // added to a load when it continues after copies of the stream
  Nanos in_flight = 0; // the time of all operations in flight when a copy of the stream becomes possible
};

/// Returns an upper bound on the time that `operations` operations in flight take, each at most `longest`. An operation
/// is a copy of the stream or of another job's load; the last operation belongs to the load. The two kinds may
/// alternate, which adds `begin` and `resume` (StreamCosts).
[[nodiscard]] constexpr Nanos in_flight(unsigned operations, Nanos longest, Nanos begin, Nanos resume) {
  return bounded(Wide{longest} * operations + Wide{resume} * ((operations + 1) / 2) + Wide{begin} * (operations / 2));
}

struct StreamTimes {
  Nanos execution = 0; // C: the time of a job whose ring is loaded, alone or with a concurrent load
  Nanos copies = 0;    // S: the longest delay of a concurrent load
  friend bool operator==(const StreamTimes&, const StreamTimes&) = default;
};

/// Returns the times for a ring of `ring` frames that holds the first chunks when the job begins. Returns nullopt if a
/// layer reads more than `ring` chunks.
[[nodiscard]] std::optional<StreamTimes> stream_times(std::span<const StreamLayer> layers, const StreamCosts& costs,
                                                      std::uint32_t ring);

/// Returns the smallest ring with which the execution takes at most `longest`, or nullopt if even a ring for all chunks
/// is not enough.
[[nodiscard]] std::optional<std::uint32_t> min_ring(std::span<const StreamLayer> layers, const StreamCosts& costs,
                                                    Nanos longest);

/// Returns the layers with only the streamed chunks, which are numbered anew. `resident`: the chunks that are always on
/// the device, in ascending order.
[[nodiscard]] std::vector<StreamLayer> without(std::span<const StreamLayer> layers,
                                               std::span<const std::uint32_t> resident);

struct StreamPlan {
  std::uint32_t ring = 0;
  std::vector<std::uint32_t> resident; // indices of resident chunks, ascending
  StreamTimes times;
  /// A lower bound on the execution time for this number of resident chunks, whichever chunks they are
  Nanos least = 0;
  /// Returns the number of frames: the frames of the ring, and one for each resident chunk.
  [[nodiscard]] std::uint64_t memory() const { return ring + resident.size(); }
};

/// Returns a plan with `resident` resident chunks (or all chunks, if the task has fewer) and a short execution. The
/// execution is the shortest possible if it equals `least`; for few chunks it does. Returns nullopt if no examined
/// choice has enough frames for every layer.
[[nodiscard]] std::optional<StreamPlan> keep_resident(std::span<const StreamLayer> layers, const StreamCosts& costs,
                                                      std::uint32_t ring, std::uint32_t resident);

/// Returns the plan with the least memory among the examined plans whose execution takes at most `longest`. Among plans
/// with equal memory it takes the smallest ring, since each job waits until its ring is loaded. Returns nullopt if
/// there is no such plan.
[[nodiscard]] std::optional<StreamPlan> min_memory(std::span<const StreamLayer> layers, const StreamCosts& costs,
                                                   Nanos longest);

} // namespace rtexec::policies
