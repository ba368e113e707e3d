// Cuts the device part of a job into segments. A segment consists of consecutive layers. More urgent jobs may get the
// device at a *cut*, the boundary between two segments. Pure; formulas and proofs: proofs/segment-cuts.md.
#pragma once

#include <rtexec/choices.hpp>
#include "policies/exact_arithmetic.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace rtexec::policies {

/// A tensor of a network that layer `first` writes and layer `last` reads last. The tensor crosses the cuts behind
/// layers `first` .. `last` - 1.
struct Tensor {
  Bytes size;
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

/// The layers that a device part executes. Their times add up to at most `longest_time`.
struct Layers {
  std::vector<Nanos> times;
  /// By layer, without the last layer: the time that a cut behind the layer adds to the segment that ends there.
  /// `unbounded`: no cut is allowed behind this layer.
  std::vector<Nanos> overheads;
  std::vector<Tensor> tensors;
  /// The minimum time that is counted for a segment, without its overhead. This minimum does not apply to the last
  /// segment.
  Nanos least = 0;
};

/// The layers behind which a job is cut, in ascending order. There is no cut behind the last layer.
using Cuts = std::vector<std::uint32_t>;

/// Returns the time of each segment: at least `Layers::least`, plus the overhead of the cut that ends it.
[[nodiscard]] std::vector<Nanos> segments_of(const Layers& layers, const Cuts& cuts);
/// Returns the length of the longest run. A run consists of 1 + `launch_ahead` consecutive segments, during which no
/// other job can get the device.
[[nodiscard]] Nanos longest_run(std::span<const Nanos> segments, unsigned launch_ahead);

/// One choice of cuts and its costs.
struct Segmentation {
  Cuts cuts;
  Nanos overhead = 0; // the overhead of all cuts
  /// The carry: the maximum number of bytes of tensors that cross a cut and live at the same time. Each tensor counts
  /// for its whole life. The carry is a lower bound on the memory for these tensors, wherever they are placed.
  Bytes carry;
};

/// Returns the costs of these cuts.
[[nodiscard]] Segmentation segmentation_of(const Layers& layers, const Cuts& cuts);

/// The best choices of cuts. For each of them, no other choice has both a smaller overhead and a smaller carry
/// (Segmentation::carry: the bytes that must be kept from one segment to the next).
struct CutChoice {
  /// Sorted by rising overhead, then by rising number of cuts. The carry falls in this order. Empty: for every choice
  /// the longest run exceeds the tolerance.
  std::vector<Segmentation> segmentations;
  /// Set only if `segmentations` is empty. A segment is valid if its time is at most the tolerance. If some layers are
  /// in no valid segment: these layers. If each layer is in a valid segment: the layers from boundary b up to the next
  /// allowed cut or the end. Boundary b is the last boundary up to which the layers can be cut into segments without a
  /// run that exceeds the tolerance.
  std::vector<std::uint32_t> too_long;
};

/// Returns all best choices of cuts whose longest run is at most `tolerance`. `launch_ahead` must be at most
/// `max_launch_ahead`.
[[nodiscard]] CutChoice choose_cuts(const Layers& layers, Nanos tolerance, unsigned launch_ahead);

/// Finds the smallest value of the longest run that the job can have with at most `segments` >= 1 segments. Returns the
/// choices of cuts that reach this value with at most that number of segments, by rising number of cuts. There is
/// always at least one choice.
[[nodiscard]] CutChoice cut_into(const Layers& layers, std::uint32_t segments, unsigned launch_ahead);

/// Returns the longest run between 0 and `longest` for which `tolerated(run)` is true, or nullopt if it is false for 0.
/// If `tolerated` is true for a run, it must be true for every shorter run.
[[nodiscard]] std::optional<Nanos> max_blocking(Nanos longest, const std::function<bool(Nanos)>& tolerated);

/// The segments of several tasks: their times, by task.
using SetSegments = std::span<const std::vector<Nanos>>;

/// Cuts the tasks one after the other, from the most urgent to the least urgent. Each task gets the cuts with the least
/// overhead among the cuts whose longest run is within the task's tolerance. `tolerance(segments)` returns the longest
/// run that the next task to be cut may have; `segments` are the segments of the tasks that are already cut. Stops
/// after the first task that has no such cuts. Purpose: proofs/segment-cuts.md.
[[nodiscard]] std::vector<CutChoice> cut_set(std::span<const Layers> tasks,
                                             const std::function<Nanos(SetSegments segments)>& tolerance,
                                             unsigned launch_ahead);

} // namespace rtexec::policies
