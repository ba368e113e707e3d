// The Winograd convolution micro-benchmark: one 3x3 convolution of a square picture, by Winograd's minimal filtering,
// again and again. It stands for the layers in which networks spend their time, and is sensitive to memory bandwidth
// (Nigam's thesis, for pictures of 256 to 2048).
//
// It is a network of one layer: 32 channels in and 32 out, stride 1, padding 1, fp32, no bias. At a resolution of 2048
// the picture and the result take 512 MiB each on the device, and as much again in the buffers of the host from and to
// which execute() copies them.
//   host device   F(2x2, 3x3), tasks/engine/host/kernels/winograd_conv.cpp: 2.25 times fewer multiplications
//   GPU           as tune() chooses: cuDNN's WINOGRAD, else its WINOGRAD_NONFUSED. Where cuDNN is not there or takes
//   neither, and untuned (the workspace
//                 is known on a device only), the engine's own convolution, which is not Winograd's; tune() then says
//                 so in a line. cuDNN 9.19 on an H100 takes the second alone: with a workspace of 576 MiB at 256
//                 and 2.25 GiB at 512, 9 GiB at 1024 (more than a tuning may ask for, 4 GiB), and not at all at 2048
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
  static constexpr std::int64_t channels = 32; // in, and out
  static constexpr unsigned min_resolution = 16;
  /// Beyond, the picture has too many elements for a tensor (graph.hpp)
  static constexpr unsigned max_resolution = 2896;

  /// bad_input: a resolution out of bounds. out_of_memory. But for the policy, `options` matter on a GPU.
  [[nodiscard]] static Result<std::unique_ptr<WinogradWorkload>> make(unsigned resolution, DeviceKind kind,
                                                                      const CudnnWinograd::Options& options);
  [[nodiscard]] static Result<std::unique_ptr<WinogradWorkload>> make(unsigned resolution, DeviceKind kind) {
    return make(resolution, kind, {});
  }

  [[nodiscard]] MemoryDemand memory() const override { return network_->memory(); }
  [[nodiscard]] std::span<const std::byte> constants() const override { return network_->constants(); }
  /// Of resolution, channels, kind of device and memory policy.
  [[nodiscard]] std::string fingerprint() const override;
  [[nodiscard]] std::span<const std::string> layers() const override { return network_->layers(); }

  [[nodiscard]] Result<> use(std::span<const std::string> tuning) override;
  [[nodiscard]] Result<std::vector<std::string>> tune(Device& device, const TuningProgress& progress) override;
  /// Fills the input with seeded noise: every job convolves the same picture.
  [[nodiscard]] Result<> bind(Device& device, const Memory& memory) override;
  void observe(const LayerObserver& observer) override;
  /// After use().
  void observe_contents(const initialise::Observer& observer) override { network_->observe_contents(observer); }

  [[nodiscard]] Status before(std::uint64_t) noexcept override { return {}; }
  [[nodiscard]] Status execute() noexcept override { return network_->run(); }
  [[nodiscard]] Status after(std::uint64_t) noexcept override { return {}; }

  /// Of one job, as a direct convolution would need them, so that throughputs of different algorithms compare.
  [[nodiscard]] double flops() const { return network_->flops(); }
  [[nodiscard]] const Network& network() const { return *network_; }

 private:
  WinogradWorkload(unsigned resolution, DeviceKind kind, const CudnnWinograd::Options& options,
                   std::unique_ptr<Network> network)
      : resolution_(resolution), kind_(kind), options_(options), network_(std::move(network)) {}
  /// The line of a tuning that chooses a method; where none can be, one that says why.
  [[nodiscard]] std::string choose(const CudnnConvolution& convolution) const;
  [[nodiscard]] Result<CudnnWinograd::Method> parse(const std::string& line) const;

  unsigned resolution_;
  DeviceKind kind_;
  CudnnWinograd::Options options_;
  std::unique_ptr<Network> network_;
  LayerObserver observer_;
};

/// The network of one convolution, with seeded weights.
[[nodiscard]] Graph winograd_graph(unsigned resolution);

} // namespace rtexec::tasks
