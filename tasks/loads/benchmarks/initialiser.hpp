// First contents of arrays that host and device share, made by the side that is faster: below a size the host makes
// them, from there on the GPU in tiles (tasks/base/tiled.hpp). Both give the same bits. On the host device the
// host makes all. Set-up only, one thread; the device outlives it.
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

/// Who makes first contents, and how.
struct InitialiserChoice {
  initialise::Tiling tiling;
  Bytes threshold{std::uint64_t{256} << 10}; // from this size on the GPU
  friend bool operator==(const InitialiserChoice&, const InitialiserChoice&) = default;
};
/// A line of tuning: "initialise tile 16777216 blocks 528 threshold 262144".
[[nodiscard]] std::string line_of(const InitialiserChoice& choice);
/// bad_input
[[nodiscard]] Result<InitialiserChoice> parse_initialiser(std::string_view line);

/// How long both sides took for one size.
struct InitialisationTimes {
  Bytes size;
  Duration host{0}, gpu{0};
};
/// The least size of those, ascending, from which on the GPU is faster at each; none where it is not at the largest.
[[nodiscard]] std::optional<Bytes> crossover(std::span<const InitialisationTimes> times);

class Initialiser {
 public:
  [[nodiscard]] static Result<Initialiser> make(Device& device, std::span<const cuda::KernelImage> images,
                                                const InitialiserChoice& choice = {});

  /// All of a buffer that the host sees.
  [[nodiscard]] Result<> fill(const Buffer& buffer, const cuda::Fill& fill, const initialise::Observer& observer = {});
  /// False on the host device.
  [[nodiscard]] bool has_gpu() const { return gpu_ != nullptr; }
  /// On the host device the host fills all the same.
  [[nodiscard]] Result<> fill_on_gpu(const Buffer& buffer, const cuda::Fill& fill, const initialise::Tiling& tiling,
                                     const initialise::Observer& observer = {});
  static void fill_on_host(const Buffer& buffer, const cuda::Fill& fill) noexcept;
  /// Moves managed memory, where host and GPU can have it at once, and waits.
  [[nodiscard]] Result<> move(const Buffer& buffer, hal::Side to);

  /// Measures on `buffer`, managed memory as large as what is to be made, which tiles and grid are fastest, and from
  /// which size on the GPU is faster than the host, each from pages on the GPU, where allocating leaves them; uses that
  /// from then on. cancelled: `going_on` returned false.
  [[nodiscard]] Result<InitialiserChoice> tune(const Buffer& buffer, const std::function<bool()>& going_on);
  static constexpr std::size_t max_measurements = 31; // on at most 1 GiB: how often `going_on` is asked
  [[nodiscard]] const InitialiserChoice& choice() const { return choice_; }
  /// Of one that is 0: what it stands for.
  [[nodiscard]] unsigned blocks(const initialise::Tiling& tiling) const;

 private:
  explicit Initialiser(const InitialiserChoice& choice) : choice_(choice) {}
  [[nodiscard]] Result<Duration> median_on_gpu(const Buffer& buffer, const initialise::Tiling& tiling);
  [[nodiscard]] Result<Duration> median_on_host(const Buffer& buffer);
  [[nodiscard]] Result<initialise::Tiling> fastest(const Buffer& buffer, std::span<const initialise::Tiling> tilings,
                                                   const std::function<bool()>& going_on);

  InitialiserChoice choice_;
  // On a GPU
  hal::CudaDevice* gpu_ = nullptr;
  std::shared_ptr<cuda::Resources> resources_;
  hal::cuda::Function kernel_ = nullptr;
  std::optional<initialise::TiledInitialiser> tiled_;
};

} // namespace rtexec::tasks
