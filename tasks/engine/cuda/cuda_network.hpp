// A network on an NVIDIA GPU. When the device is known, the kernel calls of each segment are captured into one CUDA
// graph, with the copies of inputs and outputs. All functions except bind() and tune() work without a device.
#pragma once

#include <rtexec/choices.hpp>
#include "tasks/engine/cuda/conv_method.hpp"
#include "tasks/engine/cuda/gpu_network.hpp"
#include "tasks/engine/cuda/program.hpp"
#include "tasks/engine/cuda/scratch_plan.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rtexec::tasks {

class CudaNetwork final : public GpuNetwork {
 public:
  struct Options {
    cuda::Executor::Options launching;
    bool transfers = true; // false: inputs and outputs stay in scratch, so that only computing is measured
    MemoryPolicy policy = MemoryPolicy::device;
  };

  /// Builds the network. Returns unsupported if the kernels cannot compute the graph, and out_of_memory if the network
  /// needs more than max_scratch.
  [[nodiscard]] static Result<std::unique_ptr<CudaNetwork>> build(const Graph& graph, Precision precision,
                                                                  const Options& options);
  [[nodiscard]] static Result<std::unique_ptr<CudaNetwork>> build(const Graph& graph, Precision precision) {
    return build(graph, precision, Options());
  }

  [[nodiscard]] Bytes scratch() const override { return {plan_.places.scratch.size}; }
  [[nodiscard]] Bytes carry() const override { return {plan_.places.carry.size}; }
  [[nodiscard]] std::vector<MemoryObject> objects() const override { return objects_of(plan_); }
  [[nodiscard]] std::span<const std::string> layers() const override { return program_.layers; }
  [[nodiscard]] double flops() const override { return program_.flops; }
  [[nodiscard]] const cuda::Program& program() const { return program_; }

  [[nodiscard]] Result<> use(std::span<const std::string> tuning) override;
  [[nodiscard]] Result<std::vector<std::string>> tune(Device& device, const TuningProgress& progress) override;
  [[nodiscard]] std::vector<LiveRange> live_ranges() const override {
    return tasks::live_ranges(plan_.lifetimes, plan_.layer_times);
  }
  [[nodiscard]] std::vector<ConstantRange> constant_ranges() const override;
  /// Cuts the network into segments, after each layer in `after`. Returns out_of_memory if the network would then need
  /// more than max_scratch.
  [[nodiscard]] Result<> cut(std::span<const std::uint32_t> after) override;
  [[nodiscard]] Result<MemoryDemand> memory_if_cut(std::span<const std::uint32_t> after) const override;
  [[nodiscard]] const cuda::ScratchPlan& plan() const { return plan_; }

 private:
  CudaNetwork(cuda::Program program, const Options& options);
  [[nodiscard]] Result<> place(Device& device, const Memory& memory) override;
  [[nodiscard]] std::span<const std::byte> image() const override { return program_.constants; }
  void release_image() noexcept override { program_.constants = std::vector<std::byte>(); }
  /// Returns one entry for each buffer of the program: its address if the buffer is outside of scratch, otherwise null.
  /// `carry` is the address of the carry, the memory that is preserved across preemption.
  [[nodiscard]] std::vector<std::byte*> outside(std::byte* carry) const;

  [[nodiscard]] Result<> choose(std::vector<cuda::ConvMethod> methods, std::vector<std::uint32_t> cuts);
  /// Plans the memory. Returns out_of_memory if the network would need more than max_scratch.
  [[nodiscard]] Result<cuda::ScratchPlan> planned(std::span<const cuda::ConvMethod> methods,
                                                  std::span<const std::uint32_t> cuts) const;
  [[nodiscard]] std::vector<MemoryObject> objects_of(const cuda::ScratchPlan& plan) const;
  [[nodiscard]] Result<> open_libraries();
  [[nodiscard]] Result<> issue_segment(std::size_t segment, const cuda::Addresses& addresses);
  [[nodiscard]] Result<> issue_calls(std::size_t segment, const cuda::Addresses& addresses);
  [[nodiscard]] std::size_t first_call(std::size_t segment) const;
  // stage_input() and stage_output() have no effect if kernels access the elements directly in the port's memory.
  [[nodiscard]] Result<> stage_input(std::size_t input, const cuda::Addresses& addresses);
  [[nodiscard]] Result<> stage_output(std::size_t output, const cuda::Addresses& addresses);
  [[nodiscard]] Result<> clear_counters(const cuda::Addresses& addresses);

  cuda::Program program_;
  Options options_;
  std::vector<std::optional<std::uint32_t>> in_place_; // for each port: the buffer in the port's memory, if any
  std::vector<cuda::ConvMethod> methods_;              // for each call of the program
  std::vector<std::uint32_t> cuts_;                    // the layers after which the network is cut
  cuda::ScratchPlan plan_;
};

} // namespace rtexec::tasks
