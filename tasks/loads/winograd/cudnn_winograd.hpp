// A network of one layer, which cuDNN's Winograd convolution computes on an NVIDIA GPU. The convolution and the copies
// of its input and output are captured into one CUDA graph. All functions except bind() work without a device.
#pragma once

#include "tasks/engine/cuda/gpu_network.hpp"
#include "tasks/engine/graph/graph.hpp"
#include "tasks/loads/winograd/cudnn_convolution.hpp"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace rtexec::tasks {

class CudnnWinograd final : public GpuNetwork {
 public:
  struct Method {
    int algorithm = 0; // cudnnConvolutionFwdAlgo_t
    std::size_t workspace = 0;
  };
  struct Options {
    cuda::Executor::Options launching;
    const cuda::CudnnFunctions* functions = nullptr; // null: the cuDNN of this machine
    MemoryPolicy policy = MemoryPolicy::device;
  };

  /// Makes the network for a graph that winograd_graph() returned.
  CudnnWinograd(const Graph& graph, double flops, const Method& method, const Options& options);
  ~CudnnWinograd() override;

  [[nodiscard]] Bytes scratch() const override;
  [[nodiscard]] std::vector<MemoryObject> objects() const override;
  [[nodiscard]] std::span<const std::string> layers() const override { return {&layer_, 1}; }
  [[nodiscard]] double flops() const override { return flops_; }

 private:
  /// Binds the network. Returns refused if there is no cuDNN, or if cuDNN no longer accepts the method.
  [[nodiscard]] Result<> place(Device& device, const Memory& memory) override;
  [[nodiscard]] std::span<const std::byte> image() const override { return std::as_bytes(std::span(filters_)); }
  void release_image() noexcept override { filters_ = std::vector<float>(); }
  /// Returns the size of the picture in bytes. Scratch holds the picture, the result (which has the size of the
  /// picture), and the workspace, in this order.
  [[nodiscard]] Bytes picture() const;
  [[nodiscard]] Result<> open_convolution();
  [[nodiscard]] Result<> issue(const Memory& memory);

  std::vector<float> filters_;
  double flops_;
  Method method_;
  Options options_;
  std::string layer_;
  std::unique_ptr<CudnnConvolution> convolution_; // null until the network is bound
};

} // namespace rtexec::tasks
