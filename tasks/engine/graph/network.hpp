// A network that is prepared for one kind of device: its constants are packed into one image, its temporary buffers are
// placed in scratch memory, and its layers are prepared.
//
// Under memory policy D (device memory) a network owns no device memory. The owner of the device copies constants() to
// the device and maps scratch; bind() receives both addresses. Inputs and outputs pass through host buffers of the
// network. A linked input or output is a tensor that is passed between two workloads and stays on the device. For each
// job the caller supplies its address in device memory. run() first copies the inputs into scratch, as floats. At the
// end run() copies the outputs out, in the types that the graph declares.
//
// Under M (managed memory) and H (host memory) a network owns buffers for its constants, inputs and outputs. Host and
// device share these buffers (managed or page-locked). The host does not access scratch, which the owner of the device
// supplies as under D. The image of the constants is released once the constants are in their buffer. Inputs and
// outputs of float32 and of integers (on a GPU not uint8) are used in place, unless they share memory with each other.
// All other inputs and outputs, and all linked ones, are converted as under D.
//
// A network may be cut into segments, between which it can be preempted. Buffers that live across a cut are in the
// carry, memory that is preserved across preemption. The owner of the device supplies the carry, as it supplies
// scratch. The first segment copies the inputs in, and the last segment copies the outputs out.
//
// A network may have recurrent state: outputs of a job that are inputs of the next job. State is in memory of class
// `state`, in the format of the inputs and outputs. State is double-buffered: a job reads one copy and writes the
// other, and the copies are swapped once the job has succeeded.
//
// Usual order: read_onnx, optimise, make_network, keep, use, cut, bind, run.
// Implementations: HostNetwork (host_network.hpp), CudaNetwork (cuda/cuda_network.hpp).
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/device.hpp>
#include <rtexec/plan.hpp>
#include <rtexec/result.hpp>
#include <rtexec/choices.hpp>
#include <rtexec/tensor.hpp>
#include <rtexec/units.hpp>
#include "tasks/base/buffer_kind.hpp"
#include "tasks/engine/graph/graph.hpp"
#include "tasks/base/initialise_observer.hpp"
#include <rtexec/workload.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rtexec::tasks {

class Network {
 public:
  /// An input or an output, with its host buffer. On a GPU the buffer exists only after bind().
  using Port = rtexec::Tensor;

  /// A recurrent state: the index of an output, and the index of the input in which the next job reads the output's
  /// value. Input and output must have the same type and shape.
  struct State {
    std::size_t input = 0;
    std::size_t output = 0;
  };

  static constexpr Bytes max_scratch{std::uint64_t{64} << 30};

  virtual ~Network() { give_back(); }
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  [[nodiscard]] MemoryPolicy policy() const { return policy_; }
  /// Returns the image of the constants, which the caller must copy to the device before bind(). The image lives as
  /// long as the network. Under the memory policies M and H the returned image is empty.
  [[nodiscard]] std::span<const std::byte> constants() const {
    return in_place() ? std::span<const std::byte>() : image();
  }
  [[nodiscard]] virtual Bytes scratch() const = 0;
  /// Returns the size of the carry: the buffers that must survive between segments.
  [[nodiscard]] virtual Bytes carry() const { return Bytes{0}; }
  /// Returns the constants with their offsets in the image, and the buffers of scratch with their planned offsets.
  [[nodiscard]] virtual std::vector<MemoryObject> objects() const = 0;
  /// Declares the recurrent state. Each input and each output may appear in one state at most. Call it before memory().
  void keep(std::vector<State> states);
  [[nodiscard]] std::span<const State> states() const { return states_; }
  /// Returns the memory that bind() needs from the caller, and the memory that the network allocates itself. Under
  /// memory policy D the network allocates its input and output buffers and the image of the constants on the host.
  /// Under the memory policies M and H the network also allocates its constants and its state, and the caller supplies
  /// neither.
  [[nodiscard]] MemoryDemand memory() const { return demand(scratch(), carry(), objects()); }

  [[nodiscard]] virtual std::span<const Port> inputs() const = 0;
  [[nodiscard]] virtual std::span<const Port> outputs() const = 0;
  /// Returns the name of each layer, indexed by the layer number that the observer receives.
  [[nodiscard]] virtual std::span<const std::string> layers() const = 0;
  /// Returns the number of floating-point operations: the multiplications and additions in the formulas of all
  /// convolutions and matrix products.
  [[nodiscard]] virtual double flops() const = 0;

  // These functions have the contracts of the functions with the same names in Workload.
  [[nodiscard]] virtual Result<> use(std::span<const std::string> tuning);
  [[nodiscard]] virtual Result<std::vector<std::string>> tune(Device& device, const TuningProgress& progress);
  [[nodiscard]] virtual std::vector<LiveRange> live_ranges() const { return {}; }
  [[nodiscard]] virtual std::vector<ConstantRange> constant_ranges() const { return {}; }
  [[nodiscard]] virtual Result<> cut(std::span<const std::uint32_t> after);
  [[nodiscard]] virtual Result<MemoryDemand> memory_if_cut(std::span<const std::uint32_t>) const { return memory(); }
  virtual void observe(const LayerObserver& observer) = 0;
  void observe_contents(const initialise::Observer& observer) { contents_observer_ = observer; }
  virtual void link_input(std::size_t input) = 0;
  virtual void link_output(std::size_t output, bool on_host) = 0;
  virtual void take_input(std::size_t input, const std::byte* from) noexcept = 0;
  virtual void give_output(std::size_t output, std::byte* to) noexcept = 0;
  /// Binds the network to `device`. `memory` must hold a copy of constants(), scratch() and carry() bytes of any
  /// content, and zeroed state. Each of these blocks must be aligned to 256 bytes. Under M and H the network can be
  /// bound only once. Returns out_of_memory also if the network needs more managed memory than the device has free.
  /// After an error the network is unbound.
  [[nodiscard]] Result<> bind(Device& device, const Memory& memory);

  /// Commits the state of the last job: the next job reads the state that the last job wrote. Without this call every
  /// job reads the same state again, which is zero after bind(). Call hand_on() between jobs, after bind().
  void hand_on() noexcept;

  /// Computes the outputs from the inputs. Does not allocate. Call it only after bind(), on the thread of the compute
  /// engine, and never twice at the same time.
  [[nodiscard]] virtual Status run() noexcept = 0;
  /// These functions have the contracts of Workload::execute_segment() and launch_segment().
  [[nodiscard]] virtual Status run_segment(std::uint32_t) noexcept { return run(); }
  [[nodiscard]] virtual bool launches_segments() const noexcept { return false; }
  [[nodiscard]] virtual Status launch_segment(std::uint32_t) noexcept { return {}; }

 protected:
  explicit Network(MemoryPolicy policy) : policy_(policy) {}

  /// Returns the value that memory() would return with this scratch, carry and objects, for example for different cuts.
  [[nodiscard]] MemoryDemand demand(Bytes scratch, Bytes carry, std::vector<MemoryObject> objects) const;

  /// Implements bind(). `memory` may belong to the caller or to the network.
  [[nodiscard]] virtual Result<> place(Device& device, const Memory& memory) = 0;
  /// Returns the image of all constants. Valid until release_image() is called.
  [[nodiscard]] virtual std::span<const std::byte> image() const = 0;
  virtual void release_image() noexcept = 0;
  /// Declares that the output is also written as state, in addition to the destination of link_output(). keep_output()
  /// sets the address to which the state is written.
  virtual void link_state(std::size_t output) = 0;
  virtual void keep_output(std::size_t output, std::byte* at) noexcept = 0;

  /// True under memory policies M and H.
  [[nodiscard]] bool in_place() const { return kind_of(policy_) != BufferKind::device; }
  /// Returns the kind of the buffers that hold inputs and outputs.
  [[nodiscard]] BufferKind seen_by_host() const { return in_place() ? kind_of(policy_) : BufferKind::host; }
  /// Allocates a buffer that lives until the network is bound again or destroyed. in_place() must be true. `what` names
  /// the purpose of the buffer in errors.
  [[nodiscard]] Result<Buffer> take(const std::string& what, BufferKind kind, Bytes size);

 private:
  [[nodiscard]] Result<> bind_own(Device& device, const Memory& memory);
  [[nodiscard]] Bytes own_memory() const;
  /// Returns the size of both copies of the state.
  [[nodiscard]] Bytes state_size() const { return state_copy_ * 2; }
  void place_states() noexcept;
  void give_back() noexcept;

  MemoryPolicy policy_;
  Device* bound_to_ = nullptr;
  std::vector<Buffer> taken_; // buffers on the device `bound_to_`, freed by give_back()
  Bytes loaded_;              // size of the constants whose image was released
  initialise::Observer contents_observer_;
  std::vector<State> states_;
  std::vector<Bytes> state_offsets_; // offset of each state in each copy
  Bytes state_copy_;
  std::byte* state_ = nullptr;
  bool second_is_newer_ = false; // true if the second copy holds the newer state
};

} // namespace rtexec::tasks
