// A network on the host device: steps (prepared kernels) that run in order on the caller's thread, in memory that the
// caller provides.
#pragma once

#include "tasks/engine/host/kernels/aligned.hpp"
#include "tasks/engine/graph/network.hpp"
#include "tasks/engine/graph/segment_plan.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace rtexec::tasks {

class Step; // step.hpp

class HostNetwork final : public Network {
 public:
  /// Prepares a network. Returns out_of_memory if the graph needs more than max_scratch or more than this machine has.
  [[nodiscard]] static Result<std::unique_ptr<HostNetwork>> build(const Graph& graph,
                                                                  MemoryPolicy policy = MemoryPolicy::device);
  ~HostNetwork() override;

  [[nodiscard]] Bytes scratch() const override { return {plan_.scratch.size}; }
  [[nodiscard]] Bytes carry() const override { return {plan_.carry.size}; }
  [[nodiscard]] std::vector<MemoryObject> objects() const override { return objects_of(plan_); }
  /// Returns the plan of scratch and carry (memory preserved across preemption). Used to measure the quality of the
  /// plan.
  [[nodiscard]] const SegmentPlan& plan() const { return plan_; }

  [[nodiscard]] std::span<const Port> inputs() const override { return inputs_; }
  [[nodiscard]] std::span<const Port> outputs() const override { return outputs_; }
  [[nodiscard]] std::span<const std::string> layers() const override { return layers_; }
  [[nodiscard]] double flops() const override { return flops_; }

  [[nodiscard]] std::vector<LiveRange> live_ranges() const override {
    return tasks::live_ranges(lifetimes_, layer_times_);
  }
  [[nodiscard]] std::vector<ConstantRange> constant_ranges() const override;
  /// Cuts the network into segments. Returns out_of_memory if the cut network would need more than max_scratch.
  [[nodiscard]] Result<> cut(std::span<const std::uint32_t> after) override;
  [[nodiscard]] Result<MemoryDemand> memory_if_cut(std::span<const std::uint32_t> after) const override;
  void observe(const LayerObserver& observer) override { observer_ = observer; }
  void link_input(std::size_t) override {}
  void link_output(std::size_t output, bool on_host) override { output_transfers_[output].on_host = on_host; }
  void take_input(std::size_t input, const std::byte* from) noexcept override { input_transfers_[input].from = from; }
  void give_output(std::size_t output, std::byte* to) noexcept override { output_transfers_[output].to = to; }
  using Network::bind;
  /// Binds the network under memory policy D. The arguments are the addresses of a copy of constants(), and of
  /// scratch() and carry() bytes of any content. Each address must be aligned to 64 bytes. May be called again.
  void bind(const std::byte* constants, std::byte* scratch, std::byte* carry = nullptr);
  /// Runs all steps. Its only system call reads the clock, and only if there is an observer.
  [[nodiscard]] Status run() noexcept override;
  [[nodiscard]] Status run_segment(std::uint32_t segment) noexcept override;

 private:
  explicit HostNetwork(MemoryPolicy policy);

  [[nodiscard]] Result<> place(Device& device, const Memory& memory) override;
  void link_state(std::size_t) override {}
  void keep_output(std::size_t output, std::byte* at) noexcept override { output_transfers_[output].kept = at; }
  /// Returns the image of the constants, in which every constant starts at a multiple of 64 bytes.
  [[nodiscard]] std::span<const std::byte> image() const override { return {constants_.get(), constants_size_}; }
  void release_image() noexcept override;

  /// The location of a tensor or workspace on the device.
  struct MemoryLocation {
    enum class Region : std::uint8_t { constant, buffer, port };
    Region region = Region::buffer;
    std::size_t offset = 0; // in bytes
    std::size_t number = 0; // index of the buffer, or of the port (inputs come first, then outputs)
  };
  /// A step with its operands. build() sets the locations, and bind() sets the pointers.
  struct Layer {
    std::unique_ptr<Step> step;
    std::vector<MemoryLocation> inputs;
    MemoryLocation output, workspace;
    std::vector<const void*> input_pointers;
    void* output_pointer = nullptr;
    float* workspace_pointer = nullptr;
  };
  struct Input {
    MemoryLocation place;
    std::byte* pointer = nullptr;
    const std::byte* from = nullptr; // address of the linked input's bytes; nullptr if the input is not linked
  };
  struct Output {
    MemoryLocation place;
    const std::byte* pointer = nullptr;
    bool on_host = true;
    std::byte* to = nullptr;   // destination of a linked output; nullptr if the output is not linked
    std::byte* kept = nullptr; // destination of the state; nullptr if the output is not state
  };
  class Builder;

  [[nodiscard]] Port& port(std::size_t number) {
    return number < inputs_.size() ? inputs_[number] : outputs_[number - inputs_.size()];
  }
  /// Returns the plan for cuts after the layers whose numbers `after` holds. Returns out_of_memory if the plan needs
  /// more than max_scratch.
  [[nodiscard]] Result<SegmentPlan> planned(std::span<const std::uint32_t> after) const;
  [[nodiscard]] std::vector<MemoryObject> objects_of(const SegmentPlan& plan) const;
  static void stage_input(const Port& port, const Input& transfer) noexcept;
  static void stage_output(const Port& port, const Output& transfer) noexcept;
  void stage_input() noexcept;
  void run_layers(std::size_t begin, std::size_t end) noexcept;
  void stage_output() noexcept;

  std::vector<Layer> steps_;
  std::vector<std::string> layers_;
  std::vector<Port> inputs_, outputs_;
  std::vector<AlignedBytes> buffers_; // buffers of the inputs and outputs under D
  std::vector<Input> input_transfers_;
  std::vector<Output> output_transfers_; // an entry for each output; `input_transfers_` has an entry for each input
  AlignedBytes constants_;
  std::size_t constants_size_ = 0;
  std::vector<MemoryObject> constant_objects_;
  std::vector<Lifetime> lifetimes_; // lifetimes of the layout's buffers, then of a workspace for each node
  std::vector<std::uint32_t> layer_times_;
  SegmentPlan plan_;
  std::vector<std::size_t> segment_ends_; // for each segment, the index of the first layer that follows it
  double flops_ = 0;
  LayerObserver observer_;
};

} // namespace rtexec::tasks
