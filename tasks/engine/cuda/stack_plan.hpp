// Which recurrent layers one kernel computes with the products of their inputs, all of them at the same time: layers of
// one kind, each of which reads the states of the one before. Pure: no device is needed.
#pragma once

#include "tasks/engine/cuda/int8_plan.hpp"
#include "tasks/engine/graph/graph.hpp"

#include <cstddef>
#include <map>
#include <vector>

namespace rtexec::tasks::cuda {

struct StackedLayer {
  const Node* product = nullptr; // the Gemm that makes its gates of the input
  const Node* recurrent = nullptr;
};

struct StackPlan {
  std::map<std::size_t, std::vector<StackedLayer>> stacks; // by the node of the first layer's Recurrent
  std::vector<bool> elsewhere;                             // nodes that those compute

  [[nodiscard]] bool has(std::size_t node) const { return elsewhere[node] || stacks.contains(node); }
};

/// Refers to the nodes of `graph`.
[[nodiscard]] StackPlan plan_stacks(const Graph& graph, const Int8Plan& int8);

} // namespace rtexec::tasks::cuda
