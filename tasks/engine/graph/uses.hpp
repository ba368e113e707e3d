// Who writes and who reads each tensor of a graph, for plans of it and for passes that change it.
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

/// Whether it reads the tensor, as an operand or as what is added to its result.
[[nodiscard]] inline bool reads(const Node& node, TensorId id) {
  return node.residual == id || std::ranges::find(node.inputs, id) != node.inputs.end();
}

/// Whether a sum with another tensor of its output's shape may become a part of it.
[[nodiscard]] inline bool takes_residual(const Node& node) {
  return std::holds_alternative<Conv>(node.operation) || std::holds_alternative<Gemm>(node.operation) ||
         std::holds_alternative<Product>(node.operation) || std::holds_alternative<Normalise>(node.operation);
}

/// Of convolutions: whether windows lie where those of `other` do.
[[nodiscard]] inline bool moves_alike(const Graph& graph, const Node& node, const Node& other) {
  const auto places = [](const Node& each) {
    const auto& w = std::get<Conv>(each.operation).window;
    return std::tuple(w.kernel_h, w.kernel_w, w.stride_h, w.stride_w, w.pad_top, w.pad_left, w.dilation_h,
                      w.dilation_w);
  };
  const auto &a = graph.tensors[node.output].shape, &b = graph.tensors[other.output].shape;
  return places(node) == places(other) && a[2] == b[2] && a[3] == b[3];
}

/// By tensor: the node that writes it, or no_node, and how many read it, who takes the graph's outputs among them.
struct Links {
  explicit Links(const Graph& graph) : producer(graph.tensors.size(), no_node), readers(graph.tensors.size(), 0) {
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

/// Who writes and who reads each tensor. Nodes are removed by sweep(), so that indices stay valid during a pass.
class Uses {
 public:
  explicit Uses(Graph& graph) : graph_(graph), links_(graph), removed_(graph.nodes.size(), false) {}

  [[nodiscard]] std::size_t producer(TensorId id) const { return links_.producer[id]; }
  [[nodiscard]] bool single_reader(TensorId id) const { return links_.readers[id] == 1; }

  /// The node that writes `id`, where nobody but one node reads it, and the node's result goes through no activation or
  /// sum yet.
  [[nodiscard]] Node* plain_producer(TensorId id) {
    if (producer(id) == no_node || !single_reader(id)) return nullptr;
    auto& node = graph_.nodes[producer(id)];
    return node.residual || node.activation.kind != Activation::Kind::none ? nullptr : &node;
  }

  /// Node `into` takes over the output of node `gone`.
  void absorb(std::size_t into, std::size_t gone) {
    graph_.nodes[into].output = graph_.nodes[gone].output;
    links_.producer[graph_.nodes[into].output] = into;
    removed_[gone] = true;
  }
  /// Moves node `from` to the place of node `to`, which goes away.
  void move(std::size_t from, std::size_t to) {
    graph_.nodes[to] = std::move(graph_.nodes[from]);
    links_.producer[graph_.nodes[to].output] = to;
    removed_[from] = true;
  }

  /// Of a node whose output nobody reads any more.
  void remove(std::size_t node) { removed_[node] = true; }

  void sweep() {
    std::vector<Node> kept;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
      if (!removed_[i]) kept.push_back(std::move(graph_.nodes[i]));
    graph_.nodes = std::move(kept);
  }

 private:
  Graph& graph_;
  Links links_;
  std::vector<bool> removed_;
};

} // namespace rtexec::tasks
