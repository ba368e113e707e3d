// Initialises memory that host and GPU share, during set-up, while the engines are idle. The GPU initialises a buffer
// in tiles. While the compute stream initialises one tile, the copy-in stream prefetches the next tile to the device
// (Wang et al., GPU-side initialization with prefetching: eUMM). This loads constants and fills arrays.
//
// The initialiser owns its events; the device must outlive it. Use it from one thread.
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
  unsigned blocks = 0;  // number of blocks of the kernel's grid; 0: four for each multiprocessor
  bool prefetch = true; // false: pages migrate when the kernel accesses them
  friend bool operator==(const Tiling&, const Tiling&) = default;
};

/// The maximum number of tiles. If a buffer would need more tiles, its tiles are larger than requested.
inline constexpr std::size_t max_tiles = 64;
/// Returns the tile size for a buffer of size `buffer`. Every tile except the last consists of whole GPU pages (64
/// KiB).
[[nodiscard]] Bytes tile_size(const Tiling& tiling, Bytes buffer);

class TiledInitialiser {
 public:
  explicit TiledInitialiser(hal::CudaDevice& gpu) : gpu_(&gpu) {}
  TiledInitialiser(TiledInitialiser&& other) noexcept
      : gpu_(other.gpu_), marks_(std::exchange(other.marks_, {})), times_(std::move(other.times_)) {}
  TiledInitialiser& operator=(TiledInitialiser&&) = delete;
  ~TiledInitialiser();

  /// A function that submits the initialisation of `size` bytes, from offset `first` on, to the compute stream.
  using MakeTile = std::function<Result<>(Bytes first, Bytes size)>;
  /// Initialises `buffer` by calling `make` for each tile. Returns when the whole buffer is initialised or, after an
  /// error, when no submitted work is left. Prefetches only managed memory, and only if the device supports
  /// prefetching.
  [[nodiscard]] Result<> run(const Buffer& buffer, const Tiling& tiling, const MakeTile& make,
                             const Observer& observer = {});

 private:
  /// The events at the begin and end of the prefetch and of the filling of one tile, in the order of time.
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
  std::vector<TileTimes> times_; // times of the tiles in the last timed run
  Instant made_{};               // the instant at which the last timed run ended
};

/// Initialises a buffer on the host: calls `make`, which must fill all `size` bytes, and reports to `observer`.
void make_on_host(Bytes size, const std::function<void()>& make, const Observer& observer);

/// Copies `bytes` to the beginning of `buffer`, which may be of any kind and on any device. If the buffer is GPU memory
/// or managed memory, copies tile by tile; page-locked `bytes` are then copied at the speed of the link. Returns
/// bad_input if `bytes` are longer than the buffer.
[[nodiscard]] Result<> load(Device& device, const Buffer& buffer, std::span<const std::byte> bytes,
                            const Observer& observer = {}, const Tiling& tiling = {});

} // namespace rtexec::tasks::initialise
