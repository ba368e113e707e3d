// A network ready to run: its constants packed into one image, its scratch planned, its layers prepared as steps.
//
// It owns no memory of the device: constants() is copied and scratch() is mapped by whoever owns the device, and bind()
// gives both addresses. Inputs and outputs pass through host buffers of the network: run() begins by copying the inputs into
// scratch and ends by copying the outputs out, as it is on a GPU. Usual order: read_onnx, optimise, build, bind, run.
#pragma once

#include "config/result.hpp"
#include "config/units.hpp"
#include "tasks/dnn/aligned.hpp"
#include "tasks/dnn/graph.hpp"
#include "tasks/dnn/memory_plan.hpp"
#include "tasks/workload.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace rtexec::tasks {

class Step; // step.hpp

class Network {
 public:
  /// An input or an output, with its host buffer.
  struct Port {
    std::string name;
    Shape shape;
    std::vector<float> buffer;
  };

  /// out_of_memory: the graph needs more than max_scratch.
  [[nodiscard]] static Result<Network> build(const Graph& graph);
  Network(Network&&) noexcept;
  Network& operator=(Network&&) noexcept;
  ~Network();

  static constexpr Bytes max_scratch{std::uint64_t{64} << 30};

  /// The image of all constants; every constant starts at a multiple of 64 bytes.
  [[nodiscard]] std::span<const std::byte> constants() const;
  [[nodiscard]] Bytes scratch() const { return {plan_.size}; }
  /// How scratch was planned, for whoever wants to know how good the plan is.
  [[nodiscard]] const MemoryPlan& plan() const { return plan_; }

  [[nodiscard]] std::span<Port> inputs() { return inputs_; }
  [[nodiscard]] std::span<const Port> outputs() const { return outputs_; }
  /// One name for each layer, by the number that the observer is given.
  [[nodiscard]] std::span<const std::string> layers() const { return layers_; }
  /// Multiplications and additions of the convolutions and matrix products, as the formulas state them.
  [[nodiscard]] double flops() const { return flops_; }

  /// Addresses, each aligned to 64 bytes: the copy of constants(), and scratch() bytes of any content. May be called again.
  void bind(const std::byte* constants, std::byte* scratch);
  /// From the input buffers to the output buffers. No allocation, no system call; one caller at a time. After bind() only.
  void run(const LayerObserver& observer = {}) noexcept;

 private:
  Network();

  /// Where something lives on the device.
  struct Place {
    bool constant = false;
    std::size_t offset = 0; // in bytes
  };
  /// A step with its operands: places from build(), pointers from bind().
  struct Layer {
    std::unique_ptr<Step> step;
    std::vector<Place> inputs;
    Place output, workspace;
    std::vector<const float*> input_pointers;
    float* output_pointer = nullptr;
    float* workspace_pointer = nullptr;
  };
  struct Transfer {
    Place place;
    const float* pointer = nullptr;
  };
  class Builder;

  std::vector<Layer> steps_;
  std::vector<std::string> layers_;
  std::vector<Port> inputs_, outputs_;
  std::vector<Transfer> input_transfers_, output_transfers_; // parallel to the ports
  AlignedBytes constants_;
  std::size_t constants_size_ = 0;
  MemoryPlan plan_;
  double flops_ = 0;
  std::byte* scratch_ = nullptr;
};

} // namespace rtexec::tasks
