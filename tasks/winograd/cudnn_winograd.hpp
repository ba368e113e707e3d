// The convolution of the micro-benchmark on an NVIDIA GPU by cuDNN's Winograd: a network of one layer, captured into
// one graph with the copies of its input and output. Everything but bind() works without a device.
#pragma once

#include "hal/cuda/cuda_device.hpp"
#include "tasks/dnn/cuda/executor.hpp"
#include "tasks/dnn/graph/graph.hpp"
#include "tasks/dnn/graph/network.hpp"
#include "tasks/winograd/cudnn_convolution.hpp"

#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace rtexec::tasks {

class CudnnWinograd final : public Network {
 public:
  struct Method {
    int algorithm = 0; // cudnnConvolutionFwdAlgo_t
    std::size_t workspace = 0;
  };
  struct Options {
    cuda::Executor::Options launching;
    const cuda::CudnnFunctions* functions = nullptr; // null: those of this machine
  };

  /// Of a graph that winograd_graph() made.
  CudnnWinograd(const Graph& graph, double flops, const Method& method, const Options& options);
  ~CudnnWinograd() override;

  [[nodiscard]] std::span<const std::byte> constants() const override { return std::as_bytes(std::span(filters_)); }
  [[nodiscard]] Bytes scratch() const override;
  [[nodiscard]] std::vector<MemoryObject> objects() const override;
  [[nodiscard]] std::span<const Port> inputs() const override { return {&input_, 1}; }
  [[nodiscard]] std::span<const Port> outputs() const override { return {&output_, 1}; }
  [[nodiscard]] std::span<const std::string> layers() const override { return {&layer_, 1}; }
  [[nodiscard]] double flops() const override { return flops_; }

  void observe(const LayerObserver& observer) override { observer_ = observer; }
  /// refused: cuDNN is not there, or takes the method no more.
  [[nodiscard]] Result<> bind(Device& device, const Memory& memory) override;
  [[nodiscard]] Status run() noexcept override;

 private:
  /// As large as the result, which follows it in scratch; then the workspace
  [[nodiscard]] Bytes picture() const;
  [[nodiscard]] Result<> ready(const Memory& memory);
  [[nodiscard]] Result<> open_convolution();
  [[nodiscard]] Result<> allocate_ports();
  [[nodiscard]] Result<> make_events();
  [[nodiscard]] Result<> issue(const Memory& memory);
  [[nodiscard]] Result<> record(std::size_t event);
  void unbind() noexcept;
  [[nodiscard]] Status tell_layer(Instant end) noexcept;

  std::vector<float> filters_;
  double flops_;
  Method method_;
  Options options_;
  Port input_, output_;
  std::string layer_;
  LayerObserver observer_;

  // Of the device it is bound to.
  hal::CudaDevice* device_ = nullptr;
  std::unique_ptr<cuda::Executor> executor_;
  std::unique_ptr<CudnnConvolution> convolution_;
  std::vector<Buffer> buffers_; // of input and output
  /// The layer's begin and end, the end of all; none where nobody observes
  std::vector<hal::cuda::Event> events_;
  GpuGraph graph_;
};

} // namespace rtexec::tasks
