// Lowers a graph to kernel calls. Chooses the memory and layout of each tensor, and the kernel of each node.
//
// Images [n, c, h, w] are stored channels last. Nodes write the inputs of a concatenation along channels directly into
// its buffer, if each input begins there at a multiple of 16 bytes. So a chain of concatenations, as in DenseNet,
// becomes one buffer. A reshape, transpose or slice becomes other strides over the same memory if strides can express
// it; otherwise it becomes a copy. An element-wise call overwrites its input if no later node reads that input.
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
