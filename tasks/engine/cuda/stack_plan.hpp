// Finds the recurrent layers that one kernel computes at the same time, with the products of their inputs: a fused
// multi-layer RNN. Its layers are of one kind, and each reads the states of the layer before. Pure: no device is
// needed.
#pragma once

#include "tasks/engine/cuda/int8_plan.hpp"
#include "tasks/engine/graph/graph.hpp"

#include <cstddef>
#include <map>
#include <vector>

namespace rtexec::tasks::cuda {

struct StackedLayer {
  const Node* product = nullptr; // the Gemm that computes its gates from the input
  const Node* recurrent = nullptr;
};

struct StackPlan {
  std::map<std::size_t, std::vector<StackedLayer>> stacks; // by the index of the first layer's Recurrent node
  std::vector<bool> elsewhere;                             // nodes that a fused RNN computes at another node

  [[nodiscard]] bool has(std::size_t node) const { return elsewhere[node] || stacks.contains(node); }
};

/// Returns a plan that points to the nodes of `graph`.
[[nodiscard]] StackPlan plan_stacks(const Graph& graph, const Int8Plan& int8);

} // namespace rtexec::tasks::cuda
