// Finds recurrent layers that one kernel can compute together with the products of their inputs, as a fused multi-layer
// RNN. Its layers are of one kind, and each layer reads the states of the previous one. Pure functions: no device is
// needed.
#pragma once

#include "tasks/engine/cuda/int8_plan.hpp"
#include "tasks/engine/graph/graph.hpp"

#include <cstddef>
#include <map>
#include <vector>

namespace rtexec::tasks::cuda {

struct FusedLayer {
  const Node* product = nullptr; // the Gemm that computes the gates from the layer's input
  const Node* recurrent = nullptr;
};

struct StackPlan {
  std::map<std::size_t, std::vector<FusedLayer>> stacks; // key: index of the first layer's Recurrent node
  std::vector<bool> elsewhere;                           // true: a fused RNN computes this node at another node

  [[nodiscard]] bool has(std::size_t node) const { return elsewhere[node] || stacks.contains(node); }
};

/// Returns a plan whose pointers refer to the nodes of `graph`.
[[nodiscard]] StackPlan plan_stacks(const Graph& graph, const Int8Plan& int8);

} // namespace rtexec::tasks::cuda
