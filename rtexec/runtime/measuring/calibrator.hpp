// Measures the cost of swapping chunks between a board's device memory and a store (SwapCost). For this purpose, it
// runs the executive with tasks that only swap. Both directions are busy during the measurements. The costs include
// decisions of the scheduler, wake-ups of threads and mappings of chunks.
//
// For each chunk size, jobs that swap x chunks are measured, for several x. A line fixed + x * per_chunk is fitted to
// the times of each direction, as RT-Swap does (Kang et al., RTSS 2023, section V-A: O_in, O_out by linear regression).
// x is the number of chunks; `fixed` and `per_chunk` are the fitted coefficients. The resulting cost is the line plus
// the largest residual, times a margin.
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
  /// The chunk sizes to measure. Empty: the powers of two from 2 MiB to 256 MiB of which four fit into `volume`
  std::vector<Bytes> chunks;
  /// The largest amount of memory that one job swaps. Absent: 1 GiB, or 128 MiB on a host device. The store to which
  /// chunks are copied must have room for three times this amount
  std::optional<Bytes> volume;
  unsigned jobs = 30; // jobs that swap, for each chunk size and number of chunks
  double margin = 1.2;
  bool keep_awake = false; // true: the task sets that will use the costs enable [executive] keep_awake
  StoreKind store = StoreKind::pinned;
  std::filesystem::path file; // the store's file if `store` is StoreKind::file
};

/// The fit of one direction: time(x) = fixed + x * per_chunk for x chunks, by least squares.
struct SwapFit {
  double fixed_ns = 0;
  double per_chunk_ns = 0;
  double residual_ns = 0; // the largest amount by which a measured time exceeds the line
  double r_squared = 0;
};

struct ChunkCalibration {
  SwapCost cost; // cost of swapping, with the margin
  SwapFit in, out;
};

struct Calibration {
  std::string device;
  std::string store;
  std::vector<ChunkCalibration> chunks;
  Bytes chosen; // the chunk size with the lowest cost for volumes of 64 MiB, 300 MiB and 1 GiB
};

/// The results of a short first run: rough costs without a margin, and the expected duration of the calibration.
struct CalibrationEstimate {
  Bytes chunk;
  Duration in{0}, out{0};          // the longest observed times to load and to evict one chunk
  std::size_t sizes = 0, runs = 0; // the numbers of chunk sizes and of runs that will follow
  Duration takes{0};
};

/// Reports progress. Either function may be empty.
struct CalibrationObserver {
  std::function<void(const CalibrationEstimate& estimate)> estimated;
  /// Called before each run, repeatedly during the run, and after the last run. `left` is the expected remaining time;
  /// nullopt: not known yet. Returning false ends the calibration
  std::function<bool(std::size_t done, std::size_t wanted, std::optional<Duration> left)> measuring;
};

[[nodiscard]] Result<Calibration> calibrate(const std::string& board, const CalibrationOptions& options,
                                            const CalibrationObserver& observer);

/// The measured time of swapping some chunks.
struct Sample {
  double chunks = 0;
  double nanoseconds = 0;
};
[[nodiscard]] SwapFit fit(const std::vector<Sample>& samples);

} // namespace rtexec::executive
