// The writer and the readers of each tensor of a graph (def-use info), for planning and for passes that change the
// graph.
#pragma once

#include "tasks/engine/graph/graph.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace rtexec::tasks {

inline constexpr std::size_t no_node = static_cast<std::size_t>(-1);

/// True if the node reads the tensor as an operand or as its residual.
[[nodiscard]] inline bool reads(const Node& node, TensorId id) {
  return node.residual == id || std::ranges::find(node.inputs, id) != node.inputs.end();
}

/// True if the node can absorb an addition of another tensor to its output. That tensor then becomes the node's
/// residual (Node::residual); it must have the shape of the output.
[[nodiscard]] inline bool takes_residual(const Node& node) {
  return std::holds_alternative<Conv>(node.operation) || std::holds_alternative<Gemm>(node.operation) ||
         std::holds_alternative<MatMul>(node.operation) || std::holds_alternative<LayerNorm>(node.operation);
}

/// True if the windows of two convolutions have the same size, strides, padding and dilation, and their outputs have
/// the same height and width.
[[nodiscard]] inline bool moves_alike(const Graph& graph, const Node& node, const Node& other) {
  const auto places = [](const Node& each) {
    const auto& w = std::get<Conv>(each.operation).window;
    return std::tuple(w.kernel_h, w.kernel_w, w.stride_h, w.stride_w, w.pad_top, w.pad_left, w.dilation_h,
                      w.dilation_w);
  };
  const auto &a = graph.tensors[node.output].shape, &b = graph.tensors[other.output].shape;
  return places(node) == places(other) && a[2] == b[2] && a[3] == b[3];
}

/// Def-use information for each tensor: the node that writes the tensor, or `no_node`, and the number of the tensor's
/// readers (operands and graph outputs).
struct DefUse {
  explicit DefUse(const Graph& graph) : producer(graph.tensors.size(), no_node), readers(graph.tensors.size(), 0) {
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      producer[graph.nodes[i].output] = i;
      for (const auto input : graph.nodes[i].inputs) ++readers[input];
      if (graph.nodes[i].residual) ++readers[*graph.nodes[i].residual];
    }
    for (const auto output : graph.outputs) ++readers[output];
  }

  [[nodiscard]] const Node* writer(const Graph& graph, TensorId id) const {
    return producer[id] == no_node ? nullptr : &graph.nodes[producer[id]];
  }

  std::vector<std::size_t> producer;
  std::vector<std::size_t> readers;
};

/// Def-use information that a pass keeps up to date while it changes the graph. sweep() removes nodes at the end, so
/// that node indices stay valid during a pass.
class DefUseEditor {
 public:
  explicit DefUseEditor(Graph& graph) : graph_(graph), def_use_(graph), removed_(graph.nodes.size(), false) {}

  [[nodiscard]] std::size_t producer(TensorId id) const { return def_use_.producer[id]; }
  [[nodiscard]] bool single_reader(TensorId id) const { return def_use_.readers[id] == 1; }

  /// Returns the node that writes `id`, if `id` has exactly one reader and the node has neither an activation nor a
  /// residual. Otherwise returns nullptr.
  [[nodiscard]] Node* plain_producer(TensorId id) {
    if (producer(id) == no_node || !single_reader(id)) return nullptr;
    auto& node = graph_.nodes[producer(id)];
    return node.residual || node.activation.kind != Activation::Kind::none ? nullptr : &node;
  }

  /// Makes node `into` write the output of node `gone`, and marks `gone` for removal.
  void absorb(std::size_t into, std::size_t gone) {
    graph_.nodes[into].output = graph_.nodes[gone].output;
    def_use_.producer[graph_.nodes[into].output] = into;
    removed_[gone] = true;
  }
  /// Moves node `from` to index `to` and overwrites the node there. Marks the index `from` for removal.
  void move(std::size_t from, std::size_t to) {
    graph_.nodes[to] = std::move(graph_.nodes[from]);
    def_use_.producer[graph_.nodes[to].output] = to;
    removed_[from] = true;
  }

  /// Marks a node for removal by sweep(). No reader of its output may be left.
  void remove(std::size_t node) { removed_[node] = true; }

  void sweep() {
    std::vector<Node> kept;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
      if (!removed_[i]) kept.push_back(std::move(graph_.nodes[i]));
    graph_.nodes = std::move(kept);
  }

 private:
  Graph& graph_;
  DefUse def_use_;
  std::vector<bool> removed_;
};

} // namespace rtexec::tasks
