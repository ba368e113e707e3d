// Jobs that keep only some of their constants on the device. The constants are divided into chunks. *Resident* chunks
// are always on the device. A job loads the other chunks layer by layer while it executes, through its own *ring* of
// frames (physical chunks that the loaded chunks use in turn). This file computes how long such a job takes, and which
// of its chunks should be resident. Pure; formulas and proofs: proofs/streaming.md.
#pragma once

#include "policies/exact_arithmetic.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace rtexec::policies {

/// A segment, or a part of a segment, for streaming. It begins only when its chunks are loaded, and its end is
/// observed. It reads the chunks `begin` .. `end` - 1 of the task, numbered in the order of their first use. From one
/// layer to the next, neither `begin` nor `end` decreases, and no chunk is left out.
struct StreamLayer {
  Nanos time = 0; // including the overhead of the boundary that ends the layer
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

/// Costs of the copy-in engine. Loads for other jobs use the same engine, but copies of the stream have priority.
struct StreamCosts {
  Nanos copy = 0;      // the time to copy one chunk
  Nanos begin = 0;     // added to the first copy of the stream after an operation of another job's load
  Nanos resume = 0;    // added to another job's load when the load continues after copies of the stream
  Nanos in_flight = 0; // the time of all operations in flight when a copy of the stream becomes possible
};

/// Returns an upper bound on the time that `operations` operations in flight on the copy engine take. Each operation
/// takes at most `longest`. The last operation belongs to another job's load. Each earlier operation belongs to that
/// load, or is a copy of the stream. Operations of the load and of the stream may alternate, which adds `begin` and
/// `resume` (StreamCosts).
[[nodiscard]] constexpr Nanos in_flight(unsigned operations, Nanos longest, Nanos begin, Nanos resume) {
  return bounded(Wide{longest} * operations + Wide{resume} * ((operations + 1) / 2) + Wide{begin} * (operations / 2));
}

struct StreamTimes {
  Nanos execution = 0; // C: the time of a job whose ring is loaded, alone or with a concurrent load
  Nanos copies = 0;    // S: the longest time by which the stream's copies delay a concurrent load
  friend bool operator==(const StreamTimes&, const StreamTimes&) = default;
};

/// Returns the times for a ring of `ring` frames that holds the first chunks of the task when the job begins. Returns
/// nullopt if a layer needs more chunks at once than the ring has frames.
[[nodiscard]] std::optional<StreamTimes> stream_times(std::span<const StreamLayer> layers, const StreamCosts& costs,
                                                      std::uint32_t ring);

/// Returns the smallest ring with which the execution takes at most `longest`. Returns nullopt if the execution takes
/// longer even with a ring for all chunks.
[[nodiscard]] std::optional<std::uint32_t> min_ring(std::span<const StreamLayer> layers, const StreamCosts& costs,
                                                    Nanos longest);

/// Returns the layers with only the streamed chunks, numbered from 0. `resident`: the chunks that are always on the
/// device, in ascending order.
[[nodiscard]] std::vector<StreamLayer> without(std::span<const StreamLayer> layers,
                                               std::span<const std::uint32_t> resident);

struct StreamPlan {
  std::uint32_t ring = 0;
  std::vector<std::uint32_t> resident; // indices of resident chunks, ascending
  StreamTimes times;
  /// A lower bound on the execution time for this number of resident chunks, whichever chunks are resident
  Nanos least = 0;
  /// Returns the number of frames: the frames of the ring, and one for each resident chunk.
  [[nodiscard]] std::uint64_t memory() const { return ring + resident.size(); }
};

/// Returns a plan with a short execution and `resident` resident chunks (or all chunks, if the task has fewer). If its
/// execution time equals StreamPlan::least, no plan with this ring and this number of resident chunks has a shorter
/// execution. The two times are equal if the task has few chunks. Returns nullopt if no examined choice has enough
/// frames for every layer.
[[nodiscard]] std::optional<StreamPlan> keep_resident(std::span<const StreamLayer> layers, const StreamCosts& costs,
                                                      std::uint32_t ring, std::uint32_t resident);

/// Returns the plan with the least memory among the examined plans whose execution takes at most `longest`. Among plans
/// with equal memory it takes the plan with the smallest ring, since each job waits until its ring is loaded. Returns
/// nullopt if no examined plan is within `longest`.
[[nodiscard]] std::optional<StreamPlan> min_memory(std::span<const StreamLayer> layers, const StreamCosts& costs,
                                                   Nanos longest);

} // namespace rtexec::policies
