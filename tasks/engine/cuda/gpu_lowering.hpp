// A graph as kernel calls: where each tensor lies and how, and which kernel computes each node.
//
// Images [n, c, h, w] lie channels last. The parts of a concatenation along channels are written where the
// concatenation wants them, when they begin at multiples of 16 bytes (the chains of DenseNet become one buffer).
// Reshapes, transposes and slices are other strides over the same memory where that can be said; else they are copies.
// Element-wise calls overwrite an input that nobody reads later.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/choices.hpp>
#include "tasks/engine/cuda/program.hpp"
#include "tasks/engine/graph/graph.hpp"

namespace rtexec::tasks::cuda {

/// unsupported: what the kernels cannot do, with the node's name.
[[nodiscard]] Result<Program> lower(const Graph& graph, Precision precision);

} // namespace rtexec::tasks::cuda
