// The typed graph as the GPU kernels compute it: every element a float. Integers up to 2^24 are exact.
#pragma once

#include "tasks/dnn/graph/graph.hpp"

namespace rtexec::tasks::cuda {

/// True if as_floats() would change the graph, which it copies.
[[nodiscard]] bool has_integers(const Graph& graph);

/// Casts become arithmetic on floats, constants of integers become floats, matrix products of integers those of floats.
/// Throws Unsupported for operations on integers that floats cannot do, and for constants that floats do not hold.
[[nodiscard]] Graph as_floats(Graph graph);

} // namespace rtexec::tasks::cuda
