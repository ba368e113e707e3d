// The common base of all networks on an NVIDIA GPU. A network has buffers for inputs and outputs, and one CUDA graph
// for each segment. The graphs are captured when the network is bound to a device. Events in the graphs record the time
// of each layer. The derived class decides which calls the graphs contain.
//
// Inputs and outputs are buffers in page-locked host memory, or managed buffers under memory policy M (managed memory).
// The device object allocates the buffers, so it must outlive a network that is bound to it.
//
// A linked input or output is passed between two workloads and stays on the device. The caller gives its address for
// each job. A page-locked buffer holds that address, and the graph reads the address from there. So one graph serves
// all jobs.
//
// Under M, if the device can prefetch, the buffers that the host accesses are prefetched to the device before the graph
// runs. Output buffers are prefetched to the host afterwards. So neither side meets page faults.
#pragma once

#include <rtexec/choices.hpp>
#include "hal/cuda/cuda_device.hpp"
#include "tasks/engine/cuda/executor.hpp"
#include "tasks/engine/graph/network.hpp"
#include "tasks/api/segments.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace rtexec::tasks {

class GpuNetwork : public Network {
 public:
  ~GpuNetwork() override { unbind(); }

  [[nodiscard]] std::span<const Port> inputs() const override { return inputs_; }
  [[nodiscard]] std::span<const Port> outputs() const override { return outputs_; }
  /// Returns the graph that run() launches if the network is not cut. Valid after bind().
  [[nodiscard]] const GpuGraph& graph() const { return graphs_.front(); }

  void observe(const LayerObserver& observer) override { observer_ = observer; }
  void link_input(std::size_t input) override { link(input, false); }
  void link_output(std::size_t output, bool on_host) override { link(inputs_.size() + output, on_host); }
  void take_input(std::size_t input, const std::byte* from) noexcept override {
    linked_at(input) = const_cast<std::byte*>(from);
  }
  void give_output(std::size_t output, std::byte* to) noexcept override { linked_at(inputs_.size() + output) = to; }
  [[nodiscard]] Status run() noexcept override;
  [[nodiscard]] Status run_segment(std::uint32_t segment) noexcept override;
  [[nodiscard]] bool launches_segments() const noexcept override { return true; }
  [[nodiscard]] Status launch_segment(std::uint32_t segment) noexcept override;

 protected:
  explicit GpuNetwork(MemoryPolicy policy) : Network(policy) {}

  /// Issues the calls of segment number `segment` to the stream.
  using Issue = std::function<Result<>(std::size_t segment)>;

  /// Binds the network to `device`. Opens the executor, then calls `open` to open everything else that `issue` needs,
  /// and captures the calls of `issue` for each segment. `issue` must record the begin of each layer, the end of the
  /// last layer, and the end of all calls. After an error, the network is bound to no device.
  [[nodiscard]] Result<> bind_to(hal::CudaDevice& device, Precision precision, const cuda::Executor::Options& launching,
                                 const std::function<Result<>()>& open, const Issue& issue);
  // record() and record_end() record an event into the stream. They have no effect if there is no observer.
  /// Records the begin of layer `layer` of `segment`. If `layer` is the layer after the segment's last layer, records
  /// the end of that last layer.
  [[nodiscard]] Result<> record(std::size_t segment, std::size_t layer);
  [[nodiscard]] Result<> record_end(std::size_t segment);
  /// Returns the memory from which the graph reads input number `input`.
  [[nodiscard]] cuda::OuterPlace outer_input(std::size_t input) const noexcept;
  /// Returns every memory to which the graph writes output number `output`.
  [[nodiscard]] std::vector<cuda::OuterPlace> outer_output(std::size_t output) const;
  void unbind() noexcept;

  [[nodiscard]] std::size_t first_layer(std::size_t segment) const noexcept {
    return tasks::first_layer(segment_ends_, segment);
  }

  std::vector<Port> inputs_, outputs_;
  std::vector<std::size_t> segment_ends_; // for each segment, the number of the layer after its last layer

  // The state of the bound device.
  hal::CudaDevice* device_ = nullptr;
  std::unique_ptr<cuda::Executor> executor_;
  std::vector<Buffer> buffers_; // buffers of the inputs, then buffers of the outputs

 private:
  [[nodiscard]] Result<> prepare(Precision precision, const cuda::Executor::Options& launching,
                                 const std::function<Result<>()>& open, const Issue& issue);
  void link_state(std::size_t output) override;
  void keep_output(std::size_t output, std::byte* at) noexcept override {
    linked_at(state_place(inputs_.size() + output)) = at;
  }
  /// The links of a port. Ports are numbered: first the inputs, then the outputs.
  struct Link {
    bool linked = false;
    bool on_host = true; // true: the host accesses the port, so the port's own buffer is used
    bool kept = false;   // true: the output is also kept as recurrent state
  };

  void link(std::size_t port, bool on_host);
  [[nodiscard]] Link link_of(std::size_t port) const noexcept { return links_.empty() ? Link() : links_[port]; }
  /// Returns the index in `linked_` of the address to which the graph copies output port `port` if the output is
  /// recurrent state.
  [[nodiscard]] std::size_t state_place(std::size_t port) const noexcept { return port + outputs_.size(); }
  [[nodiscard]] void*& linked_at(std::size_t port) noexcept { return reinterpret_cast<void**>(linked_.host)[port]; }
  [[nodiscard]] cuda::OuterPlace linked_place(std::size_t port) const noexcept {
    return {.linked = reinterpret_cast<void* const*>(linked_.device) + port};
  }
  [[nodiscard]] Result<> allocate_ports();
  [[nodiscard]] Result<> make_events();
  /// Returns the index of the event that records the begin of a layer. Each segment has two events more than it has
  /// layers.
  [[nodiscard]] static std::size_t event_of(std::size_t segment, std::size_t layer) { return layer + 2 * segment; }
  [[nodiscard]] Status tell_layers(std::size_t segment, Instant end) noexcept;
  [[nodiscard]] Status abandon(Errc error, std::size_t segment) noexcept;
  [[nodiscard]] bool prefetches() const noexcept;
  /// Moves to side `to` the buffers of all ports that the host accesses, from port number `first` on. Has no effect if
  /// prefetches() is false.
  [[nodiscard]] Status move(std::size_t first, hal::Side to) noexcept;

  LayerObserver observer_;
  std::vector<Link> links_; // empty if no port is linked
  /// Page-locked array of addresses: one for each port if the port is linked, then one for the recurrent state of each
  /// output.
  Buffer linked_;
  std::vector<hal::cuda::Event> events_;
  std::vector<GpuGraph> graphs_; // one for each segment
  std::size_t launched_ = 0;     // number of segments launched ahead and not yet waited for
};

} // namespace rtexec::tasks
