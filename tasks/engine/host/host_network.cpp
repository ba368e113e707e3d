#include "tasks/engine/host/host_network.hpp"

#include "hal/thread.hpp"
#include "tasks/engine/host/kernels/elements.hpp"
#include "tasks/engine/host/kernels/evaluate.hpp"
#include "tasks/engine/host/layout.hpp"
#include "tasks/engine/host/kernels/step.hpp"
#include "tasks/api/segments.hpp"
#include "tasks/engine/graph/constant_ranges.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <utility>

namespace rtexec::tasks {
namespace {

std::size_t bytes_of(const Network::Port& port) {
  return static_cast<std::size_t>(element_count(port.shape)) * size_of(port.type);
}

/// True if the caller and the engine store elements of this type in the same way. Booleans differ, because a caller's
/// boolean may be any byte.
bool is_stored_as_seen(ElementType type) {
  return type == ElementType::float32 || (is_integer(type) && type != ElementType::boolean);
}

} // namespace

class HostNetwork::Builder {
 public:
  Builder(const Graph& graph, MemoryPolicy policy) : graph_(graph), network_(new HostNetwork(policy)) {}

  Result<std::unique_ptr<HostNetwork>> build() {
    prepare_steps();
    if (!plan_scratch())
      return fail(Errc::out_of_memory, "network '" + graph_.name + "' needs more than " + readable(max_scratch) +
                                           " of scratch memory; use a smaller input");
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
      if (!layout_.elided[i]) add_layer(i);
    network_->segment_ends_ = {network_->layers_.size()};
    add_ports(graph_.inputs, network_->inputs_, network_->input_transfers_);
    add_ports(graph_.outputs, network_->outputs_, network_->output_transfers_);
    copy_constants();
    return std::move(network_);
  }

 private:
  /// A constant in the image. It is stored as in the graph, or packed for a step.
  struct Blob {
    std::size_t offset = 0;
    const Tensor* given = nullptr;
    std::vector<float> packed = {};
    [[nodiscard]] std::span<const std::byte> bytes() const {
      return given ? stored(*given) : std::as_bytes(std::span(packed));
    }
  };

  void prepare_steps() {
    for (const auto& node : graph_.nodes) {
      steps_.push_back(prepare(graph_, node));
      network_->flops_ += product_flops(graph_, node);
    }
  }

  bool plan_scratch() {
    layout_ = lay_out(graph_, steps_, network_->in_place());
    if (network_->in_place()) find_ports();
    auto& lifetimes = network_->lifetimes_ = layout_.buffers;
    for (const auto& [buffer, _] : ports_) lifetimes[buffer].size = 0;
    first_workspace_ = lifetimes.size();
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const auto time = static_cast<std::uint32_t>(i + 1);
      const auto floats = steps_[i] && !layout_.elided[i] ? steps_[i]->workspace() : 0;
      if (floats > max_scratch.count / sizeof(float)) return false;
      lifetimes.push_back({floats * sizeof(float), time, time});
      if (!layout_.elided[i]) network_->layer_times_.push_back(time);
    }
    auto plan = network_->planned({});
    if (plan) network_->plan_ = std::move(*plan);
    return plan.has_value();
  }

  /// Finds the buffers of the layout that hold exactly one port (an input or output). The port is then used in place.
  void find_ports() {
    std::size_t number = 0;
    for (const auto* ids : {&graph_.inputs, &graph_.outputs})
      for (const auto id : *ids) {
        const auto& at = layout_.tensors[id];
        if (at.buffer != Location::none && at.offset == 0 && is_stored_as_seen(graph_.tensors[id].type) &&
            layout_.buffers[at.buffer].size == bytes_of(graph_.tensors[id]))
          ports_.try_emplace(at.buffer, number);
        ++number;
      }
  }

  MemoryLocation place_of(TensorId id) {
    const auto source = layout_.source[id];
    if (graph_.tensors[source].constant()) return place_constant(source);
    const auto& location = layout_.tensors[source];
    const auto port = ports_.find(location.buffer);
    if (port != ports_.end()) return {MemoryLocation::Region::port, location.offset, port->second};
    return {MemoryLocation::Region::buffer, location.offset, location.buffer};
  }

  /// Returns the location of a constant. All nodes that read the constant in the same packed layout share one copy.
  MemoryLocation place_constant(TensorId id, const Step* packs = nullptr) {
    const auto packing = packs ? packs->packing() : "";
    const auto [found, is_new] = constants_.try_emplace({id, packing}, network_->constants_size_);
    const auto& tensor = graph_.tensors[id];
    if (is_new && packing.empty()) append_constant({.given = &tensor});
    else if (is_new) append_constant({.packed = packed_for(*packs, tensor)});
    return {MemoryLocation::Region::constant, found->second};
  }

  void append_constant(Blob blob) {
    const auto offset = blob.offset = network_->constants_size_;
    const auto size = blob.bytes().size();
    blobs_.push_back(std::move(blob));
    network_->constant_objects_.push_back({MemoryClass::constant, {offset}, {size}});
    network_->constants_size_ = MemoryPlan::aligned(offset + size);
  }

  void add_layer(std::size_t i) {
    const auto& node = graph_.nodes[i];
    Layer layer;
    for (std::size_t k = 0; k < node.inputs.size(); ++k)
      layer.inputs.push_back(k == 1 && !steps_[i]->packing().empty() ? place_constant(node.inputs[k], steps_[i].get())
                                                                     : place_of(node.inputs[k]));
    if (node.residual) layer.inputs.push_back(place_of(*node.residual));
    layer.output = place_of(node.output);
    layer.workspace.number = first_workspace_ + i;
    layer.input_pointers.resize(layer.inputs.size());
    layer.step = std::move(steps_[i]);
    network_->steps_.push_back(std::move(layer));
    network_->layers_.push_back(node.name);
  }

  template <class Transfer>
  void add_ports(const std::vector<TensorId>& ids, std::vector<Port>& ports, std::vector<Transfer>& transfers) {
    for (const auto id : ids) {
      const auto& tensor = graph_.tensors[id];
      auto& port = ports.emplace_back(Port{tensor.name, tensor.type, tensor.shape, {}});
      transfers.emplace_back().place = place_of(id);
      if (!network_->in_place()) give_buffer(port);
    }
  }

  void give_buffer(Port& port) {
    auto& buffer = network_->buffers_.emplace_back(allocate_aligned(bytes_of(port)));
    std::memset(buffer.get(), 0, bytes_of(port));
    port.bytes = {buffer.get(), bytes_of(port)};
  }

  /// Copies the constants into the image. Frees each packed copy as soon as it is in the image, so that few copies of
  /// large constants are in memory at the same time.
  void copy_constants() {
    network_->constants_ = allocate_aligned(network_->constants_size_);
    for (auto& blob : blobs_) {
      const auto bytes = blob.bytes();
      auto* const end = std::ranges::copy(bytes, network_->constants_.get() + blob.offset).out;
      std::memset(end, 0, MemoryPlan::aligned(bytes.size()) - bytes.size());
      blob.packed = {};
    }
  }

  const Graph& graph_;
  std::unique_ptr<HostNetwork> network_;
  std::vector<std::unique_ptr<Step>> steps_; // a step for each node
  Layout layout_;
  /// Maps a buffer of the layout to the index of the port that it holds.
  std::map<std::uint32_t, std::size_t> ports_;
  std::size_t first_workspace_ = 0; // index of the first workspace among the buffers
  /// Offset of each constant in the image, keyed by tensor and packing; "": not packed.
  std::map<std::pair<TensorId, std::string>, std::size_t> constants_;
  std::vector<Blob> blobs_;
};

HostNetwork::HostNetwork(MemoryPolicy policy) : Network(policy) {}
HostNetwork::~HostNetwork() = default;

Result<std::unique_ptr<HostNetwork>> HostNetwork::build(const Graph& graph, MemoryPolicy policy) {
  try {
    return Builder(graph, policy).build();
  } catch (const std::bad_alloc&) {
    return fail(Errc::out_of_memory, "network '" + graph.name + "' does not fit into the memory of this machine");
  }
}

// ---- memory

Result<SegmentPlan> HostNetwork::planned(std::span<const std::uint32_t> after) const {
  SegmentPlan plan = plan_segments(lifetimes_, layer_times_, after);
  if (plan.scratch.size > max_scratch.count || plan.carry.size > max_scratch.count)
    return fail(Errc::out_of_memory, "the network with these cut points needs more than " + readable(max_scratch) +
                                         " of memory: use other cut points, or a smaller input");
  return plan;
}

Result<> HostNetwork::cut(std::span<const std::uint32_t> after) {
  auto ends = segment_ends(after, layers_.size());
  if (!ends) return Unexpected(ends.error());
  auto plan = planned(after);
  if (!plan) return Unexpected(plan.error());
  plan_ = std::move(*plan);
  segment_ends_ = std::move(*ends);
  return {};
}

Result<MemoryDemand> HostNetwork::memory_if_cut(std::span<const std::uint32_t> after) const {
  if (const auto ends = segment_ends(after, layers_.size()); !ends) return Unexpected(ends.error());
  const auto plan = planned(after);
  if (!plan) return Unexpected(plan.error());
  return demand({plan->scratch.size}, {plan->carry.size}, objects_of(*plan));
}

std::vector<MemoryObject> HostNetwork::objects_of(const SegmentPlan& plan) const {
  std::vector<MemoryObject> objects = scratch_objects(lifetimes_, plan);
  objects.insert(objects.end(), constant_objects_.begin(), constant_objects_.end());
  return objects;
}

std::vector<ConstantRange> HostNetwork::constant_ranges() const {
  ConstantRanges ranges(constant_objects_, steps_.size());
  const auto read = [&](std::size_t layer, const MemoryLocation& place) {
    if (place.region == MemoryLocation::Region::constant) ranges.read(layer, place.offset);
  };
  for (std::size_t i = 0; i < steps_.size(); ++i)
    for (const MemoryLocation& input : steps_[i].inputs) read(i, input);
  for (const Output& output : output_transfers_) read(steps_.size() - 1, output.place);
  return std::move(ranges).result();
}

void HostNetwork::release_image() noexcept {
  constants_.reset();
  constants_size_ = 0;
}

Result<> HostNetwork::place(Device&, const Memory& memory) {
  for (std::size_t i = 0; in_place() && i < inputs_.size() + outputs_.size(); ++i) {
    const auto size = bytes_of(port(i));
    const auto buffer = take("'" + port(i).name + "'", seen_by_host(), Bytes{std::max<std::size_t>(size, 1)});
    if (!buffer) return Unexpected(buffer.error());
    port(i).bytes = {buffer->host, size};
  }
  bind(memory.constant, memory.scratch, memory.carry);
  return {};
}

void HostNetwork::bind(const std::byte* constants, std::byte* scratch, std::byte* carry) {
  const auto begin = [&](const MemoryLocation& place) {
    if (place.region == MemoryLocation::Region::port) return port(place.number).bytes.data();
    return (plan_.carried[place.number] ? carry : scratch) + plan_.offset(place.number);
  };
  const auto write = [&](const MemoryLocation& place) { return begin(place) + place.offset; };
  const auto read = [&](const MemoryLocation& place) -> const std::byte* {
    if (place.region != MemoryLocation::Region::constant) return write(place);
    return constants + place.offset;
  };
  for (auto& layer : steps_) {
    for (std::size_t k = 0; k < layer.inputs.size(); ++k) layer.input_pointers[k] = read(layer.inputs[k]);
    layer.output_pointer = write(layer.output);
    layer.workspace_pointer = reinterpret_cast<float*>(write(layer.workspace));
  }
  for (auto& transfer : input_transfers_) transfer.pointer = write(transfer.place);
  for (auto& transfer : output_transfers_) transfer.pointer = read(transfer.place);
}

void HostNetwork::stage_input(const Port& port, const Input& transfer) noexcept {
  const std::byte* const from = transfer.from != nullptr ? transfer.from : port.bytes.data();
  if (from == transfer.pointer) return;
  kernels::stage_input(transfer.pointer, port.type, from, port.bytes.size() / size_of(port.type));
}

void HostNetwork::stage_output(const Port& port, const Output& transfer) noexcept {
  const std::size_t count = port.bytes.size() / size_of(port.type);
  const bool there = port.bytes.data() == transfer.pointer;
  if (transfer.on_host && !there) kernels::stage_output(port.bytes.data(), port.type, transfer.pointer, count);
  for (std::byte* const to : {transfer.to, transfer.kept})
    if (to != nullptr) kernels::stage_output(to, port.type, transfer.pointer, count);
}

Status HostNetwork::run() noexcept {
  stage_input();
  run_layers(0, steps_.size());
  stage_output();
  return {};
}

Status HostNetwork::run_segment(std::uint32_t segment) noexcept {
  if (segment == 0) stage_input();
  run_layers(first_layer(segment_ends_, segment), segment_ends_[segment]);
  if (segment + 1 == segment_ends_.size()) stage_output();
  return {};
}

void HostNetwork::stage_input() noexcept {
  for (std::size_t i = 0; i < inputs_.size(); ++i) stage_input(inputs_[i], input_transfers_[i]);
}

void HostNetwork::run_layers(std::size_t begin, std::size_t end) noexcept {
  for (std::size_t i = begin; i < end; ++i) {
    const auto& layer = steps_[i];
    if (observer_.begin) observer_.begin(observer_.self, static_cast<std::uint32_t>(i), hal::now());
    layer.step->run({layer.input_pointers, layer.output_pointer, layer.workspace_pointer});
    if (observer_.end) observer_.end(observer_.self, static_cast<std::uint32_t>(i), hal::now());
  }
}

void HostNetwork::stage_output() noexcept {
  for (std::size_t i = 0; i < outputs_.size(); ++i) stage_output(outputs_[i], output_transfers_[i]);
}

} // namespace rtexec::tasks
