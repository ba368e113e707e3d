#include "tasks/dnn/host/host_network.hpp"

#include "hal/thread.hpp"
#include "tasks/dnn/kernels/elements.hpp"
#include "tasks/dnn/kernels/evaluate.hpp"
#include "tasks/dnn/kernels/gemm.hpp"
#include "tasks/dnn/host/layout.hpp"
#include "tasks/dnn/kernels/step.hpp"

#include <cstring>
#include <unordered_map>

namespace rtexec::tasks {

class HostNetwork::Builder {
 public:
  explicit Builder(const Graph& graph) : graph_(graph) {}

  Result<std::unique_ptr<HostNetwork>> build() {
    kernels::prepare_gemm();
    prepare_steps();
    if (!plan_scratch())
      return fail(Errc::out_of_memory, "network '" + graph_.name + "' needs more than " + readable(max_scratch) +
                                           " of scratch memory; use a smaller input");
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
      if (!layout_.elided[i]) add_layer(i);
    add_ports(graph_.inputs, network_->inputs_, network_->input_transfers_);
    add_ports(graph_.outputs, network_->outputs_, network_->output_transfers_);
    copy_constants();
    return std::move(network_);
  }

 private:
  void prepare_steps() {
    for (const auto& node : graph_.nodes) {
      auto prepared = prepare(graph_, node);
      steps_.push_back(std::move(prepared.step));
      packed_.push_back(std::move(prepared.packed));
      network_->flops_ += product_flops(graph_, node);
    }
  }

  /// Tensors as the layout has them, then one workspace for each step.
  bool plan_scratch() {
    layout_ = lay_out(graph_, steps_);
    auto lifetimes = layout_.buffers;
    first_workspace_ = lifetimes.size();
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const auto floats = steps_[i] && !layout_.elided[i] ? steps_[i]->workspace() : 0;
      if (floats > max_scratch.count / sizeof(float)) return false;
      lifetimes.push_back(
          {floats * sizeof(float), static_cast<std::uint32_t>(i + 1), static_cast<std::uint32_t>(i + 1)});
    }
    network_->plan_ = plan_memory(lifetimes);
    for (std::size_t i = 0; i < lifetimes.size(); ++i)
      if (lifetimes[i].size > 0)
        network_->objects_.push_back({MemoryClass::scratch, {network_->plan_.offsets[i]}, {lifetimes[i].size}});
    return network_->plan_.size <= max_scratch.count;
  }

  Place place_of(TensorId id) {
    const auto source = layout_.source[id];
    if (graph_.tensors[source].constant()) return place_constant(source);
    const auto& location = layout_.tensors[source];
    return {false, network_->plan_.offsets[location.buffer] + location.offset};
  }

  Place place_constant(TensorId id) {
    const auto [found, is_new] = constants_.try_emplace(id, network_->constants_size_);
    if (is_new) append_constant(graph_.tensors[id].values);
    return {true, found->second};
  }

  Place append_constant(const std::vector<float>& values) {
    const auto offset = network_->constants_size_;
    blobs_.push_back({offset, &values});
    network_->objects_.push_back({MemoryClass::constant, {offset}, {values.size() * sizeof(float)}});
    network_->constants_size_ = MemoryPlan::aligned(offset + values.size() * sizeof(float));
    return {true, offset};
  }

  void add_layer(std::size_t i) {
    const auto& node = graph_.nodes[i];
    const auto& packed = packed_[i];
    Layer layer;
    for (std::size_t k = 0; k < node.inputs.size(); ++k)
      layer.inputs.push_back(k < packed.size() && !packed[k].empty() ? append_constant(packed[k])
                                                                     : place_of(node.inputs[k]));
    if (node.residual) layer.inputs.push_back(place_of(*node.residual));
    layer.output = place_of(node.output);
    layer.workspace = {false, network_->plan_.offsets[first_workspace_ + i]};
    layer.input_pointers.resize(layer.inputs.size());
    layer.step = std::move(steps_[i]);
    network_->steps_.push_back(std::move(layer));
    network_->layers_.push_back(node.name);
  }

  template <class Transfer>
  void add_ports(const std::vector<TensorId>& ids, std::vector<Port>& ports, std::vector<Transfer>& transfers) {
    for (const auto id : ids) {
      const auto& tensor = graph_.tensors[id];
      const std::size_t size = static_cast<std::size_t>(element_count(tensor.shape)) * size_of(tensor.type);
      auto& buffer = network_->buffers_.emplace_back(allocate_aligned(size));
      std::memset(buffer.get(), 0, size);
      ports.push_back({tensor.name, tensor.type, tensor.shape, {buffer.get(), size}});
      transfers.emplace_back().place = place_of(id);
    }
  }

  void copy_constants() {
    network_->constants_ = allocate_aligned(network_->constants_size_);
    std::memset(network_->constants_.get(), 0, network_->constants_size_);
    for (const auto& blob : blobs_)
      std::memcpy(network_->constants_.get() + blob.offset, blob.values->data(), blob.values->size() * sizeof(float));
  }

  struct Blob {
    std::size_t offset;
    const std::vector<float>* values;
  };

  const Graph& graph_;
  std::unique_ptr<HostNetwork> network_{new HostNetwork};
  std::vector<std::unique_ptr<Step>> steps_;            // parallel to the nodes
  std::vector<std::vector<std::vector<float>>> packed_; // by node, by input
  Layout layout_;
  std::size_t first_workspace_ = 0;                     // in the plan
  std::unordered_map<TensorId, std::size_t> constants_; // offset of each that is used as it is
  std::vector<Blob> blobs_;
};

HostNetwork::HostNetwork() = default;
HostNetwork::~HostNetwork() = default;

Result<std::unique_ptr<HostNetwork>> HostNetwork::build(const Graph& graph) {
  try {
    return Builder(graph).build();
  } catch (const std::bad_alloc&) {
    return fail(Errc::out_of_memory, "network '" + graph.name + "' does not fit into the memory of this machine");
  }
}

std::span<const std::byte> HostNetwork::constants() const { return {constants_.get(), constants_size_}; }

Result<> HostNetwork::bind(Device&, const Memory& memory) {
  bind(memory.constant, memory.scratch);
  return {};
}

void HostNetwork::bind(const std::byte* constants, std::byte* scratch) {
  const auto read = [&](const Place& place) {
    return reinterpret_cast<const float*>((place.constant ? constants : scratch) + place.offset);
  };
  const auto write = [&](const Place& place) { return reinterpret_cast<float*>(scratch + place.offset); };
  for (auto& layer : steps_) {
    for (std::size_t k = 0; k < layer.inputs.size(); ++k) layer.input_pointers[k] = read(layer.inputs[k]);
    layer.output_pointer = write(layer.output);
    layer.workspace_pointer = write(layer.workspace);
  }
  scratch_ = scratch;
  for (auto& transfer : output_transfers_) transfer.pointer = read(transfer.place);
}

void HostNetwork::take_in(const Port& port, const Input& transfer) const noexcept {
  kernels::to_floats(reinterpret_cast<float*>(scratch_ + transfer.place.offset), port.type,
                     transfer.from != nullptr ? transfer.from : port.bytes.data(),
                     port.bytes.size() / size_of(port.type));
}

void HostNetwork::give_out(const Port& port, const Output& transfer) noexcept {
  const std::size_t count = port.bytes.size() / size_of(port.type);
  if (transfer.on_host) kernels::from_floats(port.bytes.data(), port.type, transfer.pointer, count);
  if (transfer.to != nullptr) kernels::from_floats(transfer.to, port.type, transfer.pointer, count);
}

Status HostNetwork::run() noexcept {
  for (std::size_t i = 0; i < inputs_.size(); ++i) take_in(inputs_[i], input_transfers_[i]);
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const auto& layer = steps_[i];
    if (observer_.begin) observer_.begin(observer_.self, static_cast<std::uint32_t>(i), hal::now());
    layer.step->run({layer.input_pointers, layer.output_pointer, layer.workspace_pointer});
    if (observer_.end) observer_.end(observer_.self, static_cast<std::uint32_t>(i), hal::now());
  }
  for (std::size_t i = 0; i < outputs_.size(); ++i) give_out(outputs_[i], output_transfers_[i]);
  return {};
}

} // namespace rtexec::tasks
