// The Winograd convolution micro-benchmark: one 3x3 convolution of a square picture, by Winograd's minimal filtering.
// Each job repeats the convolution. The benchmark represents the layers in which networks spend most time, and is
// sensitive to memory bandwidth (Nigam's thesis on GPU-aware memory isolation, for pictures of 256 to 2048 pixels on a
// side).
//
// The workload is a network of one layer: 32 input channels, 32 output channels, stride 1, padding 1, fp32, no bias. At
// a resolution of 2048 the picture and the result take 512 MiB each on the device, and 512 MiB each in the buffers of
// the host. execute() copies the picture from the host's buffer, and the result to the host's buffer. The algorithm
// depends on the device:
//   host device   F(2x2, 3x3), tasks/engine/host/kernels/winograd_conv.cpp. It needs 2.25 times fewer multiplications.
//   GPU           tune() chooses cuDNN's WINOGRAD, or else its WINOGRAD_NONFUSED. If cuDNN is missing or accepts
//                 neither, it chooses the engine's own convolution, which is not Winograd's, and says so in a tuning
//                 line. Without tuning the engine's own convolution is used too, because the workspace is known only
//                 on a device. cuDNN 9.19 on an H100 accepts only WINOGRAD_NONFUSED. Its workspace is 576 MiB at a
//                 resolution of 256, 2.25 GiB at 512 and 9 GiB at 1024, which exceeds the limit of 4 GiB.
//                 cuDNN refuses 2048.
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/result.hpp>
#include "tasks/engine/graph/network.hpp"
#include "tasks/loads/winograd/cudnn_winograd.hpp"
#include <rtexec/workload.hpp>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace rtexec::tasks {

class WinogradWorkload final : public Workload {
 public:
  static constexpr std::int64_t channels = 32; // input channels, and output channels
  static constexpr unsigned min_resolution = 16;
  /// The maximum resolution. A larger picture has too many elements for a tensor (graph.hpp).
  static constexpr unsigned max_resolution = 2896;

  /// Makes the workload. Returns bad_input for a resolution outside [min_resolution, max_resolution], or out_of_memory.
  /// `options` apply to a GPU only, except for the memory policy.
  [[nodiscard]] static Result<std::unique_ptr<WinogradWorkload>> make(unsigned resolution, DeviceKind kind,
                                                                      const CudnnWinograd::Options& options);
  [[nodiscard]] static Result<std::unique_ptr<WinogradWorkload>> make(unsigned resolution, DeviceKind kind) {
    return make(resolution, kind, {});
  }

  [[nodiscard]] MemoryDemand memory() const override { return network_->memory(); }
  [[nodiscard]] std::span<const std::byte> constants() const override { return network_->constants(); }
  /// The result depends on resolution, channels, kind of device and memory policy.
  [[nodiscard]] std::string fingerprint() const override;
  [[nodiscard]] std::span<const std::string> layers() const override { return network_->layers(); }

  [[nodiscard]] Result<> use(std::span<const std::string> tuning) override;
  [[nodiscard]] Result<std::vector<std::string>> tune(Device& device, const TuningProgress& progress) override;
  /// Binds the network and fills the input with seeded noise. Every job convolves the same picture.
  [[nodiscard]] Result<> bind(Device& device, const Memory& memory) override;
  void observe(const LayerObserver& observer) override;
  /// Call it after use(), because use() replaces the network.
  void observe_contents(const initialise::Observer& observer) override { network_->observe_contents(observer); }

  [[nodiscard]] Status before(std::uint64_t) noexcept override { return {}; }
  [[nodiscard]] Status execute() noexcept override { return network_->run(); }
  [[nodiscard]] Status after(std::uint64_t) noexcept override { return {}; }

  /// Returns the number of floating-point operations of one job. The operations are counted as for a direct
  /// convolution, so that throughputs of different algorithms are comparable.
  [[nodiscard]] double flops() const { return network_->flops(); }
  [[nodiscard]] const Network& network() const { return *network_; }

 private:
  WinogradWorkload(unsigned resolution, DeviceKind kind, const CudnnWinograd::Options& options,
                   std::unique_ptr<Network> network)
      : resolution_(resolution), kind_(kind), options_(options), network_(std::move(network)) {}
  /// Returns the tuning line that chooses a method. If no method works, returns a line that gives the reason.
  [[nodiscard]] std::string choose(const CudnnConvolution& convolution) const;
  [[nodiscard]] Result<CudnnWinograd::Method> parse(const std::string& line) const;

  unsigned resolution_;
  DeviceKind kind_;
  CudnnWinograd::Options options_;
  std::unique_ptr<Network> network_;
  LayerObserver observer_;
};

/// Returns the network of one convolution, with seeded weights, as a graph.
[[nodiscard]] Graph winograd_graph(unsigned resolution);

} // namespace rtexec::tasks
