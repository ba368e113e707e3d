// Simplifies a graph without changing what it computes: batch normalisation goes into the convolution before it,
// activations and residual sums into the operation that makes their input, and what nobody reads goes away.
#pragma once

#include "tasks/dnn/graph/graph.hpp"

namespace rtexec::tasks {

/// All of the passes below, in their order.
void optimise(Graph& graph);

/// A ScaleShift after a Conv whose output nobody else reads.
void fold_scales(Graph& graph);
/// Multiply of a tensor and its sigmoid, which nobody else reads: one Activation.
void merge_swish(Graph& graph);
/// Add of a Conv's or Gemm's output and another tensor of the same shape.
void fuse_residuals(Graph& graph);
/// An Activation after Conv, Gemm, Binary or ScaleShift whose output nobody else reads.
void fuse_activations(Graph& graph);
/// Nodes and constants that no output depends on.
void remove_unused(Graph& graph);

} // namespace rtexec::tasks
