// A network on an NVIDIA GPU: kernel calls that are captured into one graph when the device is known, with the copies
// of inputs and outputs.
//
// Everything but bind() and tune() works without a device. Inputs and outputs are page-locked buffers of the device, so
// the device must outlive a network that was bound to it.
#pragma once

#include <rtexec/task_set.hpp>
#include "hal/cuda/cuda_device.hpp"
#include "tasks/dnn/cuda/conv_method.hpp"
#include "tasks/dnn/cuda/executor.hpp"
#include "tasks/dnn/cuda/program.hpp"
#include "tasks/dnn/cuda/scratch_plan.hpp"
#include "tasks/dnn/graph/network.hpp"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace rtexec::tasks {

class CudaNetwork final : public Network {
 public:
  struct Options {
    cuda::Executor::Options launching;
    bool transfers = true; // false: inputs and outputs stay in scratch, to measure computing alone
  };

  /// unsupported: what the kernels cannot do. out_of_memory: more than max_scratch.
  [[nodiscard]] static Result<std::unique_ptr<CudaNetwork>> build(const Graph& graph, Precision precision,
                                                                  const Options& options);
  [[nodiscard]] static Result<std::unique_ptr<CudaNetwork>> build(const Graph& graph, Precision precision) {
    return build(graph, precision, Options());
  }
  ~CudaNetwork() override;

  [[nodiscard]] std::span<const std::byte> constants() const override { return program_.constants; }
  [[nodiscard]] Bytes scratch() const override { return {plan_.size}; }
  [[nodiscard]] std::vector<MemoryObject> objects() const override;
  [[nodiscard]] std::span<const Port> inputs() const override { return inputs_; }
  [[nodiscard]] std::span<const Port> outputs() const override { return outputs_; }
  [[nodiscard]] std::span<const std::string> layers() const override { return program_.layers; }
  [[nodiscard]] double flops() const override { return program_.flops; }
  [[nodiscard]] const cuda::Program& program() const { return program_; }
  /// What run() launches; after bind().
  [[nodiscard]] const GpuGraph& graph() const { return graph_; }

  [[nodiscard]] Result<> use(std::span<const std::string> tuning) override;
  [[nodiscard]] Result<std::vector<std::string>> tune(Device& device, const TuningProgress& progress) override;
  void observe(const LayerObserver& observer) override { observer_ = observer; }
  [[nodiscard]] Result<> bind(Device& device, const Memory& memory) override;
  [[nodiscard]] Status run() noexcept override;

 private:
  CudaNetwork(cuda::Program program, const Options& options);

  [[nodiscard]] Result<> choose(std::vector<cuda::ConvMethod> methods);
  [[nodiscard]] Result<> open_libraries();
  [[nodiscard]] Result<> allocate_ports();
  [[nodiscard]] Result<> make_events();
  [[nodiscard]] Result<> issue_all(const cuda::Addresses& addresses);
  [[nodiscard]] Result<> issue_calls(const cuda::Addresses& addresses);
  [[nodiscard]] Result<> record(std::size_t event);
  [[nodiscard]] Result<> clear_counters(const cuda::Addresses& addresses);
  void unbind() noexcept;
  [[nodiscard]] Status tell_layers(Instant end) noexcept;

  cuda::Program program_;
  Options options_;
  std::vector<cuda::ConvMethod> methods_; // by call
  cuda::ScratchPlan plan_;
  std::vector<Port> inputs_, outputs_;
  LayerObserver observer_;

  // Of the device it is bound to.
  hal::CudaDevice* device_ = nullptr;
  std::unique_ptr<cuda::Executor> executor_;
  std::vector<Buffer> buffers_; // of inputs, then of outputs
  /// The beginning of each layer, the end of the last one, the end of all
  std::vector<hal::cuda::Event> events_;
  GpuGraph graph_;
};

} // namespace rtexec::tasks
