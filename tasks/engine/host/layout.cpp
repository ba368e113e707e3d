#include "tasks/engine/host/layout.hpp"

#include <algorithm>
#include <optional>

namespace rtexec::tasks {
namespace {

/// Returns the node's Concat if each of its inputs is contiguous in the output. Otherwise returns nullptr.
const Concat* outermost_concat(const Graph& graph, const Node& node) {
  const auto* concat = std::get_if<Concat>(&node.operation);
  if (!concat) return nullptr;
  const auto& shape = graph.tensors[node.output].shape;
  return std::all_of(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(concat->axis),
                     [](auto d) { return d == 1; })
             ? concat
             : nullptr;
}

std::vector<TensorId> all_inputs(const Node& node) {
  auto inputs = node.inputs;
  if (node.residual) inputs.push_back(*node.residual);
  return inputs;
}

class Builder {
 public:
  Builder(const Graph& graph, std::span<const std::unique_ptr<Step>> steps, bool keep_inputs)
      : graph_(graph), steps_(steps) {
    layout_.tensors.resize(graph.tensors.size());
    layout_.elided.resize(graph.nodes.size(), false);
    find_sources();
    find_last_reads();
    if (keep_inputs)
      for (const auto input : graph.inputs) last_read_[source(input)] = time_of(graph.nodes.size());
  }

  Layout build() {
    place_concats();
    for (const auto input : graph_.inputs) place(input, 0);
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) place_node(i);
    for (const auto output : graph_.outputs) // an output without elements is written by no node
      if (location(output).buffer == Location::none && !graph_.tensors[source(output)].constant())
        place(output, time_of(graph_.nodes.size()));
    for (TensorId id = 0; id < graph_.tensors.size(); ++id) layout_.tensors[id] = layout_.tensors[source(id)];
    return std::move(layout_);
  }

 private:
  [[nodiscard]] TensorId source(TensorId id) const { return layout_.source[id]; }
  Location& location(TensorId id) { return layout_.tensors[source(id)]; }

  void find_sources() {
    for (TensorId id = 0; id < graph_.tensors.size(); ++id) layout_.source.push_back(id);
    for (const auto& node : graph_.nodes)
      if (std::holds_alternative<Reshape>(node.operation)) layout_.source[node.output] = source(node.inputs.front());
  }

  void find_last_reads() {
    last_read_.resize(graph_.tensors.size(), 0);
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      for (const auto input : all_inputs(graph_.nodes[i])) last_read_[source(input)] = time_of(i);
      last_read_[source(graph_.nodes[i].output)] = std::max(last_read_[source(graph_.nodes[i].output)], time_of(i));
    }
    for (const auto output : graph_.outputs) last_read_[source(output)] = time_of(graph_.nodes.size());
  }

  static std::uint32_t time_of(std::size_t node) { return static_cast<std::uint32_t>(node + 1); }

  std::uint32_t new_buffer(std::size_t size) {
    layout_.buffers.push_back({size, std::numeric_limits<std::uint32_t>::max(), 0});
    shared_.push_back(false);
    return static_cast<std::uint32_t>(layout_.buffers.size() - 1);
  }

  void extend(std::uint32_t buffer, std::uint32_t first, std::uint32_t last) {
    auto& lifetime = layout_.buffers[buffer];
    lifetime.first = std::min(lifetime.first, first);
    lifetime.last = std::max(lifetime.last, last);
  }

  /// Assigns a location to tensor `id`, which is written at `time`. Extends the lifetime of its buffer to the last time
  /// at which the tensor is read.
  void place(TensorId id, std::uint32_t time) {
    auto& at = location(id);
    if (at.buffer == Location::none) at.buffer = new_buffer(bytes_of(graph_.tensors[id]));
    extend(at.buffer, time, std::max(time, last_read_[source(id)]));
  }

  /// Places the concatenations from the last to the first. If the inputs of a concatenation are the first inputs of a
  /// later, longer concatenation, the shorter one becomes a part of the longer one (as in the chains of DenseNet).
  void place_concats() {
    for (std::size_t i = graph_.nodes.size(); i-- > 0;)
      if (outermost_concat(graph_, graph_.nodes[i])) place_concat(graph_.nodes[i]);
  }

  void place_concat(const Node& node) {
    auto& whole = location(node.output);
    if (whole.buffer == Location::none) {
      if (const auto found = adjacent_inputs(node)) whole = *found;
      else whole = {new_buffer(bytes_of(graph_.tensors[node.output])), 0};
      shared_[whole.buffer] = true;
    }
    auto offset = whole.offset;
    for (const auto input : node.inputs) {
      auto& part = location(input);
      if (part.buffer == Location::none && !graph_.tensors[source(input)].constant()) part = {whole.buffer, offset};
      offset += bytes_of(graph_.tensors[input]);
    }
  }

  /// Returns the joint location of all inputs of `node` if they already lie one after another in one buffer. Otherwise
  /// returns nullopt.
  std::optional<Location> adjacent_inputs(const Node& node) {
    const auto first = location(node.inputs.front());
    auto next = first.offset;
    for (const auto input : node.inputs) {
      const auto& part = location(input);
      if (part.buffer == Location::none || part.buffer != first.buffer || part.offset != next) return std::nullopt;
      next += bytes_of(graph_.tensors[input]);
    }
    return first;
  }

  void place_node(std::size_t i) {
    const auto& node = graph_.nodes[i];
    if (std::holds_alternative<Reshape>(node.operation)) {
      layout_.elided[i] = true;
      return;
    }
    if (outermost_concat(graph_, node)) layout_.elided[i] = in_place_already(node);
    else if (location(node.output).buffer == Location::none) overwrite_an_input(i);
    place(node.output, time_of(i));
  }

  bool in_place_already(const Node& node) {
    auto next = location(node.output).offset;
    return std::ranges::all_of(node.inputs, [&](TensorId input) {
      const auto& part = location(input);
      const bool there = part.buffer == location(node.output).buffer && part.offset == next;
      next += bytes_of(graph_.tensors[input]);
      return there;
    });
  }

  /// Assigns the output to the buffer of an input. The input must have no later reader, and no other input may be in
  /// that buffer.
  void overwrite_an_input(std::size_t i) {
    const auto& node = graph_.nodes[i];
    const auto inputs = all_inputs(node);
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      const auto at = location(inputs[k]);
      if (at.buffer == Location::none || shared_[at.buffer] || !steps_[i]->in_place(k)) continue;
      if (layout_.buffers[at.buffer].last > time_of(i) ||
          bytes_of(graph_.tensors[inputs[k]]) != bytes_of(graph_.tensors[node.output]))
        continue;
      if (std::ranges::count_if(inputs, [&](TensorId other) { return location(other).buffer == at.buffer; }) > 1)
        continue;
      location(node.output) = at;
      return;
    }
  }

  const Graph& graph_;
  std::span<const std::unique_ptr<Step>> steps_;
  Layout layout_;
  std::vector<bool> shared_;             // true: buffer of a concatenation, which is never overwritten
  std::vector<std::uint32_t> last_read_; // for each source tensor, the time of its last reader
};

} // namespace

Layout lay_out(const Graph& graph, std::span<const std::unique_ptr<Step>> steps, bool keep_inputs) {
  return Builder(graph, steps, keep_inputs).build();
}

} // namespace rtexec::tasks
