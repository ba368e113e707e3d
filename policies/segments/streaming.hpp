// Jobs whose constants do not all stay on the device. A job loads the others layer by layer while it executes, through
// its own ring of frames (physical chunks). Computes how long such a job takes, and which of its chunks should stay
// resident. Pure; formulas and proofs: proofs/streaming.md.
#pragma once

#include "policies/exact_arithmetic.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace rtexec::policies {

/// A segment, or a part of one, for streaming. It begins only when its chunks are loaded, and its end is observed. It
/// reads the chunks `begin` .. `end` - 1 of the task, which are numbered in the order of their first use. Neither
/// number decreases from a layer to the next, and no chunk is left out.
struct StreamLayer {
  Nanos time = 0; // with the overhead of its boundary
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

/// Costs of the copy-in engine. A load for another job uses the same engine; copies of the stream precede it.
struct StreamCosts {
  Nanos copy = 0;      // of one chunk
  Nanos begin = 0;     // added to the first copy of the stream after an operation of the load
  Nanos resume = 0;    // added to the load when it continues after copies of the stream
  Nanos in_flight = 0; // the time of all operations in flight when a copy of the stream becomes possible
};

/// Returns an upper bound on the time that `operations` operations in flight take, each of them at most `longest`. An
/// operation belongs to the stream or to the load of another job; the last one belongs to the load. Both kinds may
/// alternate, which adds `begin` and `resume` (StreamCosts).
[[nodiscard]] constexpr Nanos in_flight(unsigned operations, Nanos longest, Nanos begin, Nanos resume) {
  return bounded(Wide{longest} * operations + Wide{resume} * ((operations + 1) / 2) + Wide{begin} * (operations / 2));
}

struct StreamTimes {
  Nanos execution = 0; // C: the time of a job whose ring is loaded, alone or with a concurrent load
  Nanos copies = 0;    // S: the longest delay of a concurrent load
  friend bool operator==(const StreamTimes&, const StreamTimes&) = default;
};

/// Returns the times with a ring of `ring` frames, which holds the first chunks when the job begins. Returns nullopt if
/// a layer reads more chunks than that.
[[nodiscard]] std::optional<StreamTimes> stream_times(std::span<const StreamLayer> layers, const StreamCosts& costs,
                                                      std::uint32_t ring);

/// Returns the smallest ring with which the execution takes at most `longest`, or nullopt if even a ring for all chunks
/// is not enough.
[[nodiscard]] std::optional<std::uint32_t> min_ring(std::span<const StreamLayer> layers, const StreamCosts& costs,
                                                    Nanos longest);

/// Returns the layers with only the streamed chunks, newly numbered. `resident`: the chunks (ascending) that are always
/// on the device.
[[nodiscard]] std::vector<StreamLayer> without(std::span<const StreamLayer> layers,
                                               std::span<const std::uint32_t> resident);

struct StreamPlan {
  std::uint32_t ring = 0;
  std::vector<std::uint32_t> resident; // chunks, ascending
  StreamTimes times;
  /// A lower bound: no other choice of the same number of resident chunks has a shorter execution than this
  Nanos least = 0;
  /// Returns the number of frames: those of the ring, and one for each resident chunk.
  [[nodiscard]] std::uint64_t memory() const { return ring + resident.size(); }
};

/// Returns a plan with `resident` resident chunks (all, if the task has no more) and a short execution. The execution
/// is the shortest possible if it equals `least`, as it does if there are few chunks. Returns nullopt if no examined
/// choice has enough frames for every layer.
[[nodiscard]] std::optional<StreamPlan> keep_resident(std::span<const StreamLayer> layers, const StreamCosts& costs,
                                                      std::uint32_t ring, std::uint32_t resident);

/// Returns the plan with the least memory among those whose execution was found to take at most `longest`. Among these
/// it has the smallest ring, since each job waits until its ring is loaded. Returns nullopt if there is none.
[[nodiscard]] std::optional<StreamPlan> min_memory(std::span<const StreamLayer> layers, const StreamCosts& costs,
                                                   Nanos longest);

} // namespace rtexec::policies
