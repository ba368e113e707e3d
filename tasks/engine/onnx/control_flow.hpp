// Lowers nodes whose attributes contain graphs (If, Loop, Scan, SequenceMap). The nodes of the contained graph replace
// such a node. Therefore the chosen branch and the number of iterations must be known when the model is loaded.
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
  std::unordered_set<std::string> outputs; // outputs of refused nodes and of nodes that depend on them
  /// The number of nodes that were not checked because they depend on refused nodes.
  std::size_t behind = 0;
};

/// Lowers the nodes in order. If a node is not supported, the later nodes that do not depend on it are still lowered.
void lower_nodes(Lowering& lowering, const std::vector<Node>& nodes, Refused& refused);

/// Calls `visit` for all nodes, including those of contained graphs.
template <class Visit> void each_node(const std::vector<Node>& nodes, const Visit& visit) {
  for (const auto& node : nodes) {
    visit(node);
    for (const auto& [name, attribute] : node.attributes)
      if (const auto* within = std::get_if<std::shared_ptr<const Subgraph>>(&attribute))
        each_node((*within)->nodes, visit);
  }
}

} // namespace rtexec::tasks::onnx_source
