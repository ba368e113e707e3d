// Runs a single node whose inputs are constants: constant folding uses the same kernels as execution.
#pragma once

#include "tasks/engine/graph/graph.hpp"

namespace rtexec::tasks {

/// Multiplications and additions of a convolution or matrix product, as its formula states them; else 0.
[[nodiscard]] double product_flops(const Graph& graph, const Node& node);

/// Elements touched, and multiply-adds where there are more: what running `node` once costs, roughly. Never overflows.
[[nodiscard]] double work(const Graph& graph, const Node& node);

/// Runs `node`, whose inputs must all be constants, and stores what it computes in its output, which becomes one.
/// Returns false, and does nothing, if that needs a workspace of more than `max_workspace` bytes.
[[nodiscard]] bool evaluate(Graph& graph, const Node& node, std::size_t max_workspace);

} // namespace rtexec::tasks
