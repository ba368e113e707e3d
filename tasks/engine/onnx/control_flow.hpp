// Nodes that hold graphs of their own: which of them are computed, and how often, is known when the model is loaded,
// and they stand in place of the node.
#pragma once

#include "tasks/engine/onnx/node_context.hpp"

#include <cstddef>
#include <string>
#include <unordered_set>
#include <variant>
#include <vector>

namespace rtexec::tasks::onnx_source {

inline constexpr std::size_t max_nodes = 20'000;

struct Refused {
  std::vector<UnsupportedNode> nodes;
  std::unordered_set<std::string> outputs; // of those, and of the nodes behind them
  std::size_t behind = 0;
};

/// One after the other; behind one that is not supported all goes on that does not need it.
void lower_nodes(Lowering& lowering, const std::vector<Node>& nodes, Refused& refused);

/// Visits all nodes, those within nodes among them.
template <class Visit> void each_node(const std::vector<Node>& nodes, const Visit& visit) {
  for (const auto& node : nodes) {
    visit(node);
    for (const auto& [name, attribute] : node.attributes)
      if (const auto* within = std::get_if<std::shared_ptr<const Subgraph>>(&attribute))
        each_node((*within)->nodes, visit);
  }
}

} // namespace rtexec::tasks::onnx_source
