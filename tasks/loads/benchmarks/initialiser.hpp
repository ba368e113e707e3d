// Fills arrays that host and device share with their first contents. The host fills an array below a threshold size.
// The GPU fills a larger array, in tiles (tasks/base/tiled.hpp). Host and GPU produce the same bits. On the host device
// the host fills all arrays. Use it during set-up and from one thread; the device must outlive it.
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

/// The parameters that decide whether the host or the GPU fills an array with its first contents, and how.
struct InitialiserChoice {
  initialise::Tiling tiling;
  Bytes threshold{std::uint64_t{256} << 10}; // buffers of this size or larger are filled on the GPU
  friend bool operator==(const InitialiserChoice&, const InitialiserChoice&) = default;
};
/// Returns the tuning line that stores a choice: "initialise tile 16777216 blocks 528 threshold 262144".
[[nodiscard]] std::string line_of(const InitialiserChoice& choice);
/// Parses a line that line_of() returned. Returns bad_input if the line is malformed.
[[nodiscard]] Result<InitialiserChoice> parse_initialiser(std::string_view line);

/// The initialisation times of host and GPU for one size.
struct InitialisationTimes {
  Bytes size;
  Duration host{0}, gpu{0};
};
/// Returns the smallest measured size from which on the GPU is faster than the host at every measured size. `times`
/// must ascend by size. Returns nullopt if the GPU is not faster than the host at the largest size.
[[nodiscard]] std::optional<Bytes> crossover(std::span<const InitialisationTimes> times);

class Initialiser {
 public:
  [[nodiscard]] static Result<Initialiser> make(Device& device, std::span<const cuda::KernelImage> images,
                                                const InitialiserChoice& choice = {});

  /// Fills a whole buffer that the host can access, on the GPU or on the host, according to choice().
  [[nodiscard]] Result<> fill(const Buffer& buffer, const cuda::Fill& fill, const initialise::Observer& observer = {});
  /// True on a GPU, false on the host device.
  [[nodiscard]] bool has_gpu() const { return gpu_ != nullptr; }
  /// Fills a buffer on the GPU. On the host device the host fills it.
  [[nodiscard]] Result<> fill_on_gpu(const Buffer& buffer, const cuda::Fill& fill, const initialise::Tiling& tiling,
                                     const initialise::Observer& observer = {});
  static void fill_on_host(const Buffer& buffer, const cuda::Fill& fill) noexcept;
  /// Moves managed memory to host or GPU and waits until it is moved. Has no effect if host and GPU cannot use managed
  /// memory at the same time.
  [[nodiscard]] Result<> move(const Buffer& buffer, hal::Side to);

  /// Measures and adopts the fastest tile size and grid, and the size from which on the GPU is faster than the host.
  /// `buffer` must be managed memory as large as the largest array. Each measurement starts with the pages on the GPU,
  /// as after an allocation. Calls `going_on` before each measurement, and returns cancelled if a call returned false.
  [[nodiscard]] Result<InitialiserChoice> tune(const Buffer& buffer, const std::function<bool()>& going_on);
  /// Maximum number of calls of `going_on`, for a buffer of at most 1 GiB.
  static constexpr std::size_t max_measurements = 31;
  [[nodiscard]] const InitialiserChoice& choice() const { return choice_; }
  /// Returns the number of blocks of a grid, even if `tiling` holds the default of 0.
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
