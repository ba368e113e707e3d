// Measures what moving chunks costs on a board's device, by running the executive itself on tasks that do nothing but
// swap: what is found holds decisions, wake-ups and mappings, with both directions busy.
//
// For each chunk size and several volumes x the time of each direction's operations is fitted as fixed + x per_chunk
// (RT-Swap V-A: O_in, O_out by linear regression). What is promised from it is the fit, its largest residual, and a
// margin.
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/result.hpp>
#include <rtexec/choices.hpp>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace rtexec::executive {

struct CalibrationOptions {
  /// Sizes to measure; empty: powers of two from 2 MiB to 256 MiB of which four fit into the volume
  std::vector<Bytes> chunks;
  /// The most that one job swaps: 1 GiB, or 128 MiB on a host device; three times that goes to the store
  std::optional<Bytes> volume;
  unsigned jobs = 30; // swapping ones for each chunk size and volume
  double margin = 1.2;
  bool keep_awake = false; // as the task sets that will use the costs: [executive] keep_awake
  StoreKind store = StoreKind::pinned;
  std::filesystem::path file; // of store `file`
};

/// Of one direction: time(x) = fixed + x per_chunk, by least squares.
struct SwapFit {
  double fixed_ns = 0;
  double per_chunk_ns = 0;
  double residual_ns = 0; // the most by which an operation took longer than the fit
  double r_squared = 0;
};

struct ChunkCalibration {
  SwapCost cost; // margin included
  SwapFit in, out;
};

struct Calibration {
  std::string device;
  std::string store;
  std::vector<ChunkCalibration> chunks;
  Bytes chosen; // the chunk size under which volumes of 64 MiB, 300 MiB and 1 GiB cost least
};

/// Of a short run before all others, without a margin.
struct CalibrationEstimate {
  Bytes chunk;
  Duration in{0}, out{0};          // the longest
  std::size_t sizes = 0, runs = 0; // that will be measured
  Duration takes{0};
};

/// Either may be empty.
struct CalibrationObserver {
  std::function<void(const CalibrationEstimate& estimate)> estimated;
  /// Before each run, now and then in it, and after the last one; `left` once there is an estimate. False stops.
  std::function<bool(std::size_t done, std::size_t wanted, std::optional<Duration> left)> measuring;
};

[[nodiscard]] Result<Calibration> calibrate(const std::string& board, const CalibrationOptions& options,
                                            const CalibrationObserver& observer);

/// Least squares; residual and r_squared of the same points.
struct Sample {
  double chunks = 0;
  double nanoseconds = 0;
};
[[nodiscard]] SwapFit fit(const std::vector<Sample>& samples);

} // namespace rtexec::executive
