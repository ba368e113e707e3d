// First contents of memory that host and GPU share, made on the GPU in tiles: while one tile is made in the compute
// stream, the next one is prefetched to the device in the copy-in stream (Wang et al., GPU-side initialization with
// prefetching: eUMM). For set-up, when the engines do nothing: constants are loaded so, and arrays filled.
//
// It owns its events; the device outlives it. One thread.
#pragma once

#include <rtexec/device.hpp>
#include <rtexec/result.hpp>
#include <rtexec/units.hpp>
#include "hal/cuda/cuda_device.hpp"
#include "tasks/base/initialise_observer.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace rtexec::tasks::initialise {

struct Tiling {
  Bytes tile{std::uint64_t{16} << 20};
  unsigned blocks = 0;  // of the kernel's grid; 0: four for each multiprocessor
  bool prefetch = true; // false: pages move when the kernel touches them
  friend bool operator==(const Tiling&, const Tiling&) = default;
};

/// Tiles are larger than asked where there would be more of them.
inline constexpr std::size_t max_tiles = 64;
/// Of a buffer; whole pages of the GPU, 64 KiB, but for the last tile.
[[nodiscard]] Bytes tile_size(const Tiling& tiling, Bytes buffer);

class TiledInitialiser {
 public:
  explicit TiledInitialiser(hal::CudaDevice& gpu) : gpu_(&gpu) {}
  TiledInitialiser(TiledInitialiser&& other) noexcept
      : gpu_(other.gpu_), marks_(std::exchange(other.marks_, {})), times_(std::move(other.times_)) {}
  TiledInitialiser& operator=(TiledInitialiser&&) = delete;
  ~TiledInitialiser();

  /// Puts what makes `size` bytes from `first` on into the compute stream.
  using MakeTile = std::function<Result<>(Bytes first, Bytes size)>;
  /// Returns when all of `buffer` is made, or, after an error, when nothing is under way any more. Only managed memory
  /// is prefetched, and only where the device can.
  [[nodiscard]] Result<> run(const Buffer& buffer, const Tiling& tiling, const MakeTile& make,
                             const Observer& observer = {});

 private:
  /// Of one tile, in the order of time.
  struct Marks {
    hal::cuda::Event prefetch_begin = nullptr, prefetch_end = nullptr, make_begin = nullptr, make_end = nullptr;
    [[nodiscard]] std::array<hal::cuda::Event, 4> all() const {
      return {prefetch_begin, prefetch_end, make_begin, make_end};
    }
  };
  [[nodiscard]] Result<> add_marks();
  [[nodiscard]] Result<> mark(hal::cuda::Event event, hal::EngineKind in) const;
  [[nodiscard]] Result<> put(const Buffer& buffer, const Tiling& tiling, const MakeTile& make, bool timed);
  [[nodiscard]] Result<> prefetch(const Buffer& buffer, Bytes first, Bytes size, const Marks& marks, bool timed);
  [[nodiscard]] Result<> wait() const;
  [[nodiscard]] Result<> read_times(std::size_t tiles, bool prefetched);

  hal::CudaDevice* gpu_;
  std::vector<Marks> marks_;
  std::vector<TileTimes> times_; // of the last run that was timed,
  Instant made_{};               // and when it had ended
};

/// By the host: `make` makes all of a buffer of `size`.
void make_on_host(Bytes size, const std::function<void()>& make, const Observer& observer);

/// Copies `bytes` to the begin of `buffer`, of whatever kind, on whatever device: on a GPU tile by tile, as fast as the
/// link where they are page-locked. bad_input: they are more than it holds.
[[nodiscard]] Result<> load(Device& device, const Buffer& buffer, std::span<const std::byte> bytes,
                            const Observer& observer = {}, const Tiling& tiling = {});

} // namespace rtexec::tasks::initialise
