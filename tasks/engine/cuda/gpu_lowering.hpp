// Lowers a graph to kernel calls. Decides the memory and layout of each tensor, and the kernel of each node.
//
// Images [n, c, h, w] are stored channels last. Nodes write the parts of a concatenation along channels directly into
// its buffer, if each part begins at a multiple of 16 bytes. The chains of DenseNet thus become one buffer. Reshapes,
// transposes and slices become other strides over the same memory if strides can express them; otherwise they become
// copies. Element-wise calls overwrite an input that no later node reads.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/choices.hpp>
#include "tasks/engine/cuda/program.hpp"
#include "tasks/engine/graph/graph.hpp"

namespace rtexec::tasks::cuda {

/// Returns the program that computes `graph`. Returns unsupported, with the node's name, if the kernels cannot compute
/// a node.
[[nodiscard]] Result<Program> lower(const Graph& graph, Precision precision);

} // namespace rtexec::tasks::cuda
