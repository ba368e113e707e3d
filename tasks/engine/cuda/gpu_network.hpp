// What every network on an NVIDIA GPU does alike: buffers for its inputs and outputs, one graph for each segment that
// is captured when the device is known, and events inside of it that say when each layer ran. Which calls the graph
// holds is the derived class's part.
//
// Inputs and outputs are page-locked buffers of the device, under M managed ones, so the device must outlive a network
// that was bound to it. Where they are linked, the graph reads where they lie from such memory, too: it stays the same
// for every job. Under M what the host has filled or read is prefetched to the device before the graph, and outputs to
// the host behind it, where the device can prefetch: neither side then meets page faults.
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
  /// What run() launches where the network is not cut; after bind().
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

  /// Puts a segment, by its number, into the stream.
  using Issue = std::function<Result<>(std::size_t segment)>;

  /// Binds anew: opens the executor, then what else `issue` needs, and captures what `issue` puts into the stream for
  /// each segment: the begin of each layer and the end of the last one are recorded, and one event behind all. Bound to
  /// nothing where any of it fails.
  [[nodiscard]] Result<> bind_to(hal::CudaDevice& device, Precision precision, const cuda::Executor::Options& launching,
                                 const std::function<Result<>()>& open, const Issue& issue);
  // Into the stream; nothing where nobody observes.
  /// The begin of a layer of `segment`, or the end of its last one where it is of a layer behind.
  [[nodiscard]] Result<> record(std::size_t segment, std::size_t layer);
  [[nodiscard]] Result<> record_end(std::size_t segment);
  /// Where the graph takes input `input` from.
  [[nodiscard]] cuda::OuterPlace outer_input(std::size_t input) const noexcept;
  /// All that it puts output `output` to.
  [[nodiscard]] std::vector<cuda::OuterPlace> outer_output(std::size_t output) const;
  void unbind() noexcept;

  [[nodiscard]] std::size_t first_layer(std::size_t segment) const noexcept {
    return tasks::first_layer(segment_ends_, segment);
  }

  std::vector<Port> inputs_, outputs_;
  std::vector<std::size_t> segment_ends_; // the layer behind each

  // Of the device it is bound to.
  hal::CudaDevice* device_ = nullptr;
  std::unique_ptr<cuda::Executor> executor_;
  std::vector<Buffer> buffers_; // of inputs, then of outputs

 private:
  [[nodiscard]] Result<> prepare(Precision precision, const cuda::Executor::Options& launching,
                                 const std::function<Result<>()>& open, const Issue& issue);
  void link_state(std::size_t output) override;
  void keep_output(std::size_t output, std::byte* at) noexcept override {
    linked_at(state_place(inputs_.size() + output)) = at;
  }
  /// Of an input, or of an output behind all inputs.
  struct Link {
    bool linked = false;
    bool on_host = true; // its buffer is used
    bool kept = false;   // it is state
  };

  void link(std::size_t port, bool on_host);
  [[nodiscard]] Link link_of(std::size_t port) const noexcept { return links_.empty() ? Link() : links_[port]; }
  /// Of an output that is state, among the places.
  [[nodiscard]] std::size_t state_place(std::size_t port) const noexcept { return port + outputs_.size(); }
  [[nodiscard]] void*& linked_at(std::size_t port) noexcept { return reinterpret_cast<void**>(linked_.host)[port]; }
  [[nodiscard]] cuda::OuterPlace linked_place(std::size_t port) const noexcept {
    return {.linked = reinterpret_cast<void* const*>(linked_.device) + port};
  }
  [[nodiscard]] Result<> allocate_ports();
  [[nodiscard]] Result<> make_events();
  /// The event of a layer's begin: each segment has two more.
  [[nodiscard]] static std::size_t event_of(std::size_t segment, std::size_t layer) { return layer + 2 * segment; }
  [[nodiscard]] Status tell_layers(std::size_t segment, Instant end) noexcept;
  [[nodiscard]] Status abandon(Errc error, std::size_t segment) noexcept;
  [[nodiscard]] bool prefetches() const noexcept;
  /// Of inputs and outputs from `first` on, those that the host sees, where it prefetches().
  [[nodiscard]] Status move(std::size_t first, hal::Side to) noexcept;

  LayerObserver observer_;
  std::vector<Link> links_; // none: nothing is linked
  Buffer linked_;           // by port: where it lies; then by output: where it is kept
  std::vector<hal::cuda::Event> events_;
  std::vector<GpuGraph> graphs_; // of each segment
  std::size_t launched_ = 0;     // segments, and not waited for
};

} // namespace rtexec::tasks
