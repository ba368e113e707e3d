// A network ready to run on one kind of device: its constants packed into one image, its scratch planned, its layers
// prepared.
//
// Under memory policy D it owns no memory of the device: constants() is copied and scratch is mapped by whoever owns
// the device, and bind() gives both addresses. Inputs and outputs pass through host buffers of the network, or through
// memory of the device where they are linked: run() begins by copying the inputs into scratch, as floats, and ends by
// copying the outputs out, as what the graph says that they are.
//
// Under M and H it owns buffers that host and device see, managed or page-locked ones, for its constants, inputs and
// outputs; scratch, which the host does not see, is given as under D. The image of the constants ends when they are
// there. Inputs and outputs of floats are computed on where they lie, unless they share memory with each other; those
// of other types become floats and are made of them as under D, and so are linked ones.
//
// It may be cut into segments: what lives across a cut then lies in the carry, which is given as scratch is. The first
// segment takes the inputs in, the last one gives the outputs out.
//
// It may keep state: outputs of a job that are inputs of the next one. They lie in memory of the class state, as the
// ports have them, twice: a job reads the one copy and writes the other, and they change places once it has succeeded.
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
  /// An input or an output, with its host buffer. On a GPU there is no buffer before bind().
  using Port = rtexec::Tensor;

  /// An input that is what the job before left in an output, by their numbers. Both are of one type and shape.
  struct State {
    std::size_t input = 0;
    std::size_t output = 0;
  };

  static constexpr Bytes max_scratch{std::uint64_t{64} << 30};

  virtual ~Network() { give_back(); }
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  [[nodiscard]] MemoryPolicy policy() const { return policy_; }
  /// The image of the constants that bind() is to be given; lives as long as the network. Nothing under M and H.
  [[nodiscard]] std::span<const std::byte> constants() const {
    return in_place() ? std::span<const std::byte>() : image();
  }
  [[nodiscard]] virtual Bytes scratch() const = 0;
  /// What must survive between segments.
  [[nodiscard]] virtual Bytes carry() const { return Bytes{0}; }
  /// Each constant as it lies in the image, and each buffer of scratch as it was planned.
  [[nodiscard]] virtual std::vector<MemoryObject> objects() const = 0;
  /// Each input and each output once. Before memory() is asked.
  void keep(std::vector<State> states);
  [[nodiscard]] std::span<const State> states() const { return states_; }
  /// What bind() is to be given, under M and H without constants and state, and what the network takes itself: buffers,
  /// and under D the image.
  [[nodiscard]] MemoryDemand memory() const { return demand(scratch(), carry(), objects()); }

  [[nodiscard]] virtual std::span<const Port> inputs() const = 0;
  [[nodiscard]] virtual std::span<const Port> outputs() const = 0;
  /// One name for each layer, by the number that the observer is given.
  [[nodiscard]] virtual std::span<const std::string> layers() const = 0;
  /// Multiplications and additions of the convolutions and matrix products, as the formulas state them.
  [[nodiscard]] virtual double flops() const = 0;

  // As those of Workload.
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
  /// `memory`: the copy of constants(), scratch() and carry() bytes of any content, and zeros for state, each aligned
  /// to 256 bytes.
  /// Under M and H, where it can be bound once, out_of_memory: also managed memory beyond what the device has free.
  /// After an error it is bound to nothing.
  [[nodiscard]] Result<> bind(Device& device, const Memory& memory);

  /// Between jobs, after bind(): the next job takes in what the last one has left. Until then, and again after bind(),
  /// jobs take in what the one before took in, at first zeros.
  void hand_on() noexcept;

  /// From the inputs to the outputs. No allocation; one caller at a time, on the compute engine's thread.
  /// After bind() only.
  [[nodiscard]] virtual Status run() noexcept = 0;
  /// As Workload::execute_segment() and launch_segment().
  [[nodiscard]] virtual Status run_segment(std::uint32_t) noexcept { return run(); }
  [[nodiscard]] virtual bool launches_segments() const noexcept { return false; }
  [[nodiscard]] virtual Status launch_segment(std::uint32_t) noexcept { return {}; }

 protected:
  explicit Network(MemoryPolicy policy) : policy_(policy) {}

  /// memory(), where cuts make these of it.
  [[nodiscard]] MemoryDemand demand(Bytes scratch, Bytes carry, std::vector<MemoryObject> objects) const;

  /// As bind(), with the memory of either owner.
  [[nodiscard]] virtual Result<> place(Device& device, const Memory& memory) = 0;
  /// Of all constants, until it is released.
  [[nodiscard]] virtual std::span<const std::byte> image() const = 0;
  virtual void release_image() noexcept = 0;
  /// As link_output(), beside that: where else the output is put.
  virtual void link_state(std::size_t output) = 0;
  virtual void keep_output(std::size_t output, std::byte* at) noexcept = 0;

  /// Under M and H.
  [[nodiscard]] bool in_place() const { return kind_of(policy_) != BufferKind::device; }
  /// Of inputs and outputs.
  [[nodiscard]] BufferKind seen_by_host() const { return in_place() ? kind_of(policy_) : BufferKind::host; }
  /// In place(): a buffer until the network is bound anew or ends. Errors say `what` it is for.
  [[nodiscard]] Result<Buffer> take(const std::string& what, BufferKind kind, Bytes size);

 private:
  [[nodiscard]] Result<> bind_own(Device& device, const Memory& memory);
  [[nodiscard]] Bytes own_memory() const;
  /// Of both copies.
  [[nodiscard]] Bytes state_size() const { return state_copy_ * 2; }
  void place_states() noexcept;
  void give_back() noexcept;

  MemoryPolicy policy_;
  Device* bound_to_ = nullptr;
  std::vector<Buffer> taken_; // of that device
  Bytes loaded_;              // of constants whose image is released
  initialise::Observer contents_observer_;
  std::vector<State> states_;
  std::vector<Bytes> state_offsets_; // in each copy
  Bytes state_copy_;
  std::byte* state_ = nullptr;
  bool second_is_newer_ = false; // of the copies
};

} // namespace rtexec::tasks
