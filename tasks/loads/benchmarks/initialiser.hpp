// Makes the first contents of arrays that host and device share. The host fills an array below a threshold size; the
// GPU fills a larger one, in tiles (tasks/base/tiled.hpp). Both produce the same bits. On the host device the host
// fills all arrays. Use it during set-up and from one thread; the device must outlive it.
#pragma once

#include <rtexec/device.hpp>
#include <rtexec/result.hpp>
#include <rtexec/units.hpp>
#include "tasks/engine/cuda/network_kernel_images.hpp"
#include "tasks/engine/cuda/kernel_resources.hpp"
#include "tasks/base/tiled.hpp"
#include "tasks/loads/benchmarks/cuda/benchmark_arguments.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rtexec::tasks {

/// The parameters that decide which side makes the first contents of an array, and how.
struct InitialiserChoice {
  initialise::Tiling tiling;
  Bytes threshold{std::uint64_t{256} << 10}; // buffers of this size or larger are filled on the GPU
  friend bool operator==(const InitialiserChoice&, const InitialiserChoice&) = default;
};
/// Returns the tuning line that stores a choice: "initialise tile 16777216 blocks 528 threshold 262144".
[[nodiscard]] std::string line_of(const InitialiserChoice& choice);
/// Parses a line of line_of(). Returns bad_input if it is malformed.
[[nodiscard]] Result<InitialiserChoice> parse_initialiser(std::string_view line);

/// The initialisation times of host and GPU for one size.
struct InitialisationTimes {
  Bytes size;
  Duration host{0}, gpu{0};
};
/// Returns the least measured size from which on the GPU is faster at every measured size. `times` ascend by size.
/// Returns nullopt if the GPU is slower at the largest size.
[[nodiscard]] std::optional<Bytes> crossover(std::span<const InitialisationTimes> times);

class Initialiser {
 public:
  [[nodiscard]] static Result<Initialiser> make(Device& device, std::span<const cuda::KernelImage> images,
                                                const InitialiserChoice& choice = {});

  /// Fills a whole buffer that the host sees, on the side that the choice prescribes.
  [[nodiscard]] Result<> fill(const Buffer& buffer, const cuda::Fill& fill, const initialise::Observer& observer = {});
  /// Returns true on a GPU, and false on the host device.
  [[nodiscard]] bool has_gpu() const { return gpu_ != nullptr; }
  /// Fills a buffer on the GPU. On the host device the host fills it.
  [[nodiscard]] Result<> fill_on_gpu(const Buffer& buffer, const cuda::Fill& fill, const initialise::Tiling& tiling,
                                     const initialise::Observer& observer = {});
  static void fill_on_host(const Buffer& buffer, const cuda::Fill& fill) noexcept;
  /// Moves managed memory to one side and waits, if host and GPU can use managed memory at the same time. Otherwise has
  /// no effect.
  [[nodiscard]] Result<> move(const Buffer& buffer, hal::Side to);

  /// Measures and adopts the fastest tile size and grid, and the size from which on the GPU is faster than the host.
  /// `buffer` is managed memory as large as the largest array. Each measurement starts with the pages on the GPU, as
  /// after an allocation. Calls `going_on` before each measurement, and returns cancelled if it returned false.
  [[nodiscard]] Result<InitialiserChoice> tune(const Buffer& buffer, const std::function<bool()>& going_on);
  static constexpr std::size_t max_measurements = 31; // most calls of `going_on`, for a buffer of at most 1 GiB
  [[nodiscard]] const InitialiserChoice& choice() const { return choice_; }
  /// Returns the number of blocks of a grid, also if `tiling` has the default of 0.
  [[nodiscard]] unsigned blocks(const initialise::Tiling& tiling) const;

 private:
  explicit Initialiser(const InitialiserChoice& choice) : choice_(choice) {}
  [[nodiscard]] Result<Duration> median_on_gpu(const Buffer& buffer, const initialise::Tiling& tiling);
  [[nodiscard]] Result<Duration> median_on_host(const Buffer& buffer);
  [[nodiscard]] Result<initialise::Tiling> fastest(const Buffer& buffer, std::span<const initialise::Tiling> tilings,
                                                   const std::function<bool()>& going_on);

  InitialiserChoice choice_;
  // Members for a GPU
  hal::CudaDevice* gpu_ = nullptr;
  std::shared_ptr<cuda::Resources> resources_;
  hal::cuda::Function kernel_ = nullptr;
  std::optional<initialise::TiledInitialiser> tiled_;
};

} // namespace rtexec::tasks
