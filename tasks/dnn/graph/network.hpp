// A network ready to run on one kind of device: its constants packed into one image, its scratch planned, its layers
// prepared.
//
// It owns no memory of the device: constants() is copied and scratch is mapped by whoever owns the device, and bind()
// gives both addresses. Inputs and outputs pass through host buffers of the network, or through memory of the device
// where they are linked: run() begins by copying the inputs into scratch, as floats, and ends by copying the outputs
// out, as what the graph says that they are. Usual order: read_onnx, optimise, make_network, use, bind, run.
// Implementations: HostNetwork (host_network.hpp), CudaNetwork (cuda/cuda_network.hpp).
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/device.hpp>
#include <rtexec/plan.hpp>
#include <rtexec/result.hpp>
#include <rtexec/task_set.hpp>
#include <rtexec/tensor.hpp>
#include <rtexec/units.hpp>
#include "tasks/dnn/graph/graph.hpp"
#include <rtexec/workload.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace rtexec::tasks {

class Network {
 public:
  /// An input or an output, with its host buffer. On a GPU there is no buffer before bind().
  using Port = rtexec::Tensor;

  static constexpr Bytes max_scratch{std::uint64_t{64} << 30};

  virtual ~Network() = default;
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  /// The image of all constants; lives as long as the network.
  [[nodiscard]] virtual std::span<const std::byte> constants() const = 0;
  [[nodiscard]] virtual Bytes scratch() const = 0;
  /// Each constant as it lies in the image, and each buffer of scratch as it was planned.
  [[nodiscard]] virtual std::vector<MemoryObject> objects() const = 0;
  [[nodiscard]] MemoryDemand memory() const {
    return {.constant = {constants().size()}, .scratch = scratch(), .state = {}, .fixed = {}, .objects = objects()};
  }

  [[nodiscard]] virtual std::span<const Port> inputs() const = 0;
  [[nodiscard]] virtual std::span<const Port> outputs() const = 0;
  /// One name for each layer, by the number that the observer is given.
  [[nodiscard]] virtual std::span<const std::string> layers() const = 0;
  /// Multiplications and additions of the convolutions and matrix products, as the formulas state them.
  [[nodiscard]] virtual double flops() const = 0;

  // As those of Workload.
  [[nodiscard]] virtual Result<> use(std::span<const std::string> tuning);
  [[nodiscard]] virtual Result<std::vector<std::string>> tune(Device& device, const TuningProgress& progress);
  virtual void observe(const LayerObserver& observer) = 0;
  virtual void link_input(std::size_t input) = 0;
  virtual void link_output(std::size_t output, bool on_host) = 0;
  virtual void take_input(std::size_t input, const std::byte* from) noexcept = 0;
  virtual void give_output(std::size_t output, std::byte* to) noexcept = 0;
  /// `memory`: the copy of constants(), and scratch() bytes of any content, each aligned to 256 bytes.
  [[nodiscard]] virtual Result<> bind(Device& device, const Memory& memory) = 0;

  /// From the inputs to the outputs. No allocation; one caller at a time, on the compute engine's thread.
  /// After bind() only.
  [[nodiscard]] virtual Status run() noexcept = 0;

 protected:
  Network() = default;
};

} // namespace rtexec::tasks
