// Measures the cost of moving chunks on a board's device, by running the executive on tasks that only swap. The results
// include decisions, wake-ups and mappings, with both directions busy.
//
// For each chunk size and several volumes x, the time of each direction's operations is fitted as fixed + x * per_chunk
// (RT-Swap V-A: O_in, O_out by linear regression). The charged cost is the fit, plus its largest residual, times a
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
  /// The sizes to measure; empty: powers of two from 2 MiB to 256 MiB of which four fit into the volume
  std::vector<Bytes> chunks;
  /// The largest volume that one job swaps: 1 GiB, or 128 MiB on a host device. The store gets three times that
  std::optional<Bytes> volume;
  unsigned jobs = 30; // jobs that swap, for each chunk size and volume
  double margin = 1.2;
  bool keep_awake = false; // as in the task sets that will use the costs: [executive] keep_awake
  StoreKind store = StoreKind::pinned;
  std::filesystem::path file; // of store `file`
};

/// The fit of one direction: time(x) = fixed + x * per_chunk, by least squares.
struct SwapFit {
  double fixed_ns = 0;
  double per_chunk_ns = 0;
  double residual_ns = 0; // the largest excess of an operation over the fit
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
  Bytes chosen; // the chunk size with the lowest cost for volumes of 64 MiB, 300 MiB and 1 GiB
};

/// An estimate from a short run before all others, without a margin.
struct CalibrationEstimate {
  Bytes chunk;
  Duration in{0}, out{0};          // the longest ones
  std::size_t sizes = 0, runs = 0; // numbers of measurements to come
  Duration takes{0};
};

/// Reports progress. Either function may be empty.
struct CalibrationObserver {
  std::function<void(const CalibrationEstimate& estimate)> estimated;
  /// Called before each run, now and then during it, and after the last one; `left` is present once there is an
  /// estimate. Returning false stops
  std::function<bool(std::size_t done, std::size_t wanted, std::optional<Duration> left)> measuring;
};

[[nodiscard]] Result<Calibration> calibrate(const std::string& board, const CalibrationOptions& options,
                                            const CalibrationObserver& observer);

/// Fits a line by least squares; residual and r_squared are those of the same points.
struct Sample {
  double chunks = 0;
  double nanoseconds = 0;
};
[[nodiscard]] SwapFit fit(const std::vector<Sample>& samples);

} // namespace rtexec::executive
