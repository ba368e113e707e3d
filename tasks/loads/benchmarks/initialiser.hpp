// The first contents of arrays that host and device share, made by the faster side: below a threshold size the host
// fills an array, from there on the GPU does so in tiles (tasks/base/tiled.hpp). Both give the same bits. On the host
// device the host fills all. Set-up only, one thread; the device must outlive it.
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

/// The choice of the side that makes first contents, and of its parameters.
struct InitialiserChoice {
  initialise::Tiling tiling;
  Bytes threshold{std::uint64_t{256} << 10}; // buffers of this size or larger are filled on the GPU
  friend bool operator==(const InitialiserChoice&, const InitialiserChoice&) = default;
};
/// Returns the line of a tuning: "initialise tile 16777216 blocks 528 threshold 262144".
[[nodiscard]] std::string line_of(const InitialiserChoice& choice);
/// Parses such a line. Returns bad_input if it is malformed.
[[nodiscard]] Result<InitialiserChoice> parse_initialiser(std::string_view line);

/// The times of both sides for one size.
struct InitialisationTimes {
  Bytes size;
  Duration host{0}, gpu{0};
};
/// Returns the least size from which on the GPU is faster at every measured size; sizes ascend. Returns nullopt if the
/// GPU is slower at the largest size.
[[nodiscard]] std::optional<Bytes> crossover(std::span<const InitialisationTimes> times);

class Initialiser {
 public:
  [[nodiscard]] static Result<Initialiser> make(Device& device, std::span<const cuda::KernelImage> images,
                                                const InitialiserChoice& choice = {});

  /// Fills a whole buffer that the host sees.
  [[nodiscard]] Result<> fill(const Buffer& buffer, const cuda::Fill& fill, const initialise::Observer& observer = {});
  /// Returns false on the host device.
  [[nodiscard]] bool has_gpu() const { return gpu_ != nullptr; }
  /// Fills on the GPU; on the host device the host fills.
  [[nodiscard]] Result<> fill_on_gpu(const Buffer& buffer, const cuda::Fill& fill, const initialise::Tiling& tiling,
                                     const initialise::Observer& observer = {});
  static void fill_on_host(const Buffer& buffer, const cuda::Fill& fill) noexcept;
  /// Moves managed memory and waits, if host and GPU can use it at the same time. Otherwise has no effect.
  [[nodiscard]] Result<> move(const Buffer& buffer, hal::Side to);

  /// Measures and adopts the fastest tile size and grid, and the size from which on the GPU is faster than the host.
  /// `buffer` is managed memory as large as the largest array. Each measurement starts with pages on the GPU, as after
  /// an allocation. Returns cancelled if `going_on` returned false.
  [[nodiscard]] Result<InitialiserChoice> tune(const Buffer& buffer, const std::function<bool()>& going_on);
  static constexpr std::size_t max_measurements = 31; // number of calls of `going_on`, for at most 1 GiB
  [[nodiscard]] const InitialiserChoice& choice() const { return choice_; }
  /// Returns the blocks of a grid, also if `blocks` of the tiling is 0 (default).
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
