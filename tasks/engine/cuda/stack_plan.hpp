// Finds recurrent layers that one kernel can compute together with the products of their inputs: a fused multi-layer
// RNN, here called a stack. All layers of a stack are of one kind, and each layer reads the states of the previous
// layer. Pure functions: no device is needed.
#pragma once

#include "tasks/engine/cuda/int8_plan.hpp"
#include "tasks/engine/graph/graph.hpp"

#include <cstddef>
#include <map>
#include <vector>

namespace rtexec::tasks::cuda {

struct FusedLayer {
  const Node* product = nullptr; // the Gemm that computes the part of the gates that depends on the layer's input
  const Node* recurrent = nullptr;
};

struct StackPlan {
  std::map<std::size_t, std::vector<FusedLayer>> stacks; // key: index of the Recurrent node of the first layer
  std::vector<bool> elsewhere; // for each node, true if a fused RNN computes it together with another node

  [[nodiscard]] bool has(std::size_t node) const { return elsewhere[node] || stacks.contains(node); }
};

/// Returns the stacks of `graph`. The pointers in the plan refer to nodes of `graph`. `int8` is the plan of int8
/// layers, which are excluded.
[[nodiscard]] StackPlan plan_stacks(const Graph& graph, const Int8Plan& int8);

} // namespace rtexec::tasks::cuda
