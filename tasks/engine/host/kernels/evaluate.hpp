// Evaluates single nodes with constant inputs. Constant folding uses the same kernels as execution.
#pragma once

#include "tasks/engine/graph/graph.hpp"

namespace rtexec::tasks {

/// Returns the multiplications and additions of a convolution or matrix product, as its formula defines them; else 0.
[[nodiscard]] double product_flops(const Graph& graph, const Node& node);

/// Returns the approximate cost of running `node` once: elements touched, plus multiplications and additions of
/// products. Never overflows.
[[nodiscard]] double work(const Graph& graph, const Node& node);

/// Runs `node`, whose inputs must all be constants, and turns its output into a constant. Returns false without effect
/// if that needs a workspace of more than `max_workspace` bytes.
[[nodiscard]] bool evaluate(Graph& graph, const Node& node, std::size_t max_workspace);

} // namespace rtexec::tasks
