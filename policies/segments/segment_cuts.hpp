// Where the device part of a job is cut into segments: runs of consecutive layers, between which more urgent jobs may
// have the device. Pure; formulas and proofs: proofs/segment-cuts.md.
#pragma once

#include <rtexec/choices.hpp>
#include "policies/exact_arithmetic.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace rtexec::policies {

/// Of a network: made by layer `first`, read last by layer `last`. It crosses the cuts behind layers first .. last - 1.
struct Tensor {
  Bytes size;
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

/// What a device part executes, layer by layer. Times add up to `longest_time` at most.
struct Layers {
  std::vector<Nanos> times;
  /// What a cut behind each layer but the last adds to the segment that ends there. `unbounded`: no cut there.
  std::vector<Nanos> overheads;
  std::vector<Tensor> tensors;
  /// What a segment takes at least, without its overhead, but for the last one.
  Nanos least = 0;
};

/// The layers behind which segments end, ascending, without the last one.
using Cuts = std::vector<std::uint32_t>;

/// The time of each segment, at least the least, with the overhead of the cut that ends it.
[[nodiscard]] std::vector<Nanos> segments_of(const Layers& layers, const Cuts& cuts);
/// Of 1 + `launch_ahead` consecutive segments: for so long nothing else gets the device.
[[nodiscard]] Nanos longest_run(std::span<const Nanos> segments, unsigned launch_ahead);

/// A way to cut, and what it costs.
struct Segmentation {
  Cuts cuts;
  Nanos overhead = 0; // of all cuts
  /// What lives at once at most of the tensors that cross a cut, each for its whole life: no placement needs less.
  Bytes carry;
};

/// What these cuts cost.
[[nodiscard]] Segmentation segmentation_of(const Layers& layers, const Cuts& cuts);

/// The ways to cut of which no other costs less overhead and less carry.
struct CutChoice {
  /// By rising overhead (of equal ones by rising number of cuts), and falling carry. Empty: there is no way.
  std::vector<Segmentation> ways;
  /// Where there is none: the layers that no segment short enough can hold; or, if each fits somewhere, those before
  /// which every way ends.
  std::vector<std::uint32_t> too_long;
};

/// All ways whose longest run is within `tolerance`; `launch_ahead` is at most `max_launch_ahead`.
[[nodiscard]] CutChoice choose_cuts(const Layers& layers, Nanos tolerance, unsigned launch_ahead);

/// The ways to cut into at most `segments` >= 1 segments whose longest run is least, by rising number of cuts. There is
/// one always.
[[nodiscard]] CutChoice cut_into(const Layers& layers, std::uint32_t segments, unsigned launch_ahead);

/// The longest run for which `tolerated(run)`, of those from 0 to `longest`; every run shorter than one that is
/// tolerated is tolerated, too. Absent: not even 0.
[[nodiscard]] std::optional<Nanos> max_blocking(Nanos longest, const std::function<bool(Nanos)>& tolerated);

/// Of tasks: the times of the segments of each.
using SetSegments = std::span<const std::vector<Nanos>>;

/// Cuts every task with the least overhead that those before it tolerate: `tasks` go from the most urgent one to the
/// least. `tolerance(segments)`: the longest run of the next task, where these are those of the tasks before. Up to the
/// first for which there is no way. What that is good for: proofs/segment-cuts.md.
[[nodiscard]] std::vector<CutChoice> cut_set(std::span<const Layers> tasks,
                                             const std::function<Nanos(SetSegments segments)>& tolerance,
                                             unsigned launch_ahead);

} // namespace rtexec::policies
