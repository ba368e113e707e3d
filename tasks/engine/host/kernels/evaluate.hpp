// Evaluates single nodes whose inputs are constants. Constant folding uses the same kernels as execution.
#pragma once

#include "tasks/engine/graph/graph.hpp"

namespace rtexec::tasks {

/// Returns the number of multiplications and additions in the formula of a convolution or matrix product. Returns 0 for
/// any other node.
[[nodiscard]] double product_flops(const Graph& graph, const Node& node);

/// Returns the approximate cost of running `node` once: the number of elements that it reads and writes, plus the
/// multiplications and additions of products. Never overflows.
[[nodiscard]] double work(const Graph& graph, const Node& node);

/// Runs `node`, whose inputs must all be constants, and turns its output into a constant. Returns false and has no
/// effect if this needs a workspace of more than `max_workspace` bytes.
[[nodiscard]] bool evaluate(Graph& graph, const Node& node, std::size_t max_workspace);

} // namespace rtexec::tasks
