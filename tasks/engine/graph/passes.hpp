// Simplifies a graph without changing what it computes: batch normalisation goes into the convolution before it,
// activations and residual sums into the operation that makes their input, what exporters write in many nodes becomes
// one, and what nobody reads goes away.
#pragma once

#include "tasks/engine/graph/graph.hpp"

namespace rtexec::tasks {

/// All of the passes below, in their order.
void optimise(Graph& graph);

/// Comparisons of whole numbers whose bounds tell the answer, and what is chosen by them.
void fold_known_values(Graph& graph);
/// A ScaleShift after a Conv whose output nobody else reads.
void fold_scales(Graph& graph);
/// Multiply of a tensor and its sigmoid, which nobody else reads: one Activation.
void merge_swish(Graph& graph);
/// Gelu in several nodes, exact or by tanh: one Activation.
void merge_gelu(Graph& graph);
/// log(p / (1 - p)), with what keeps both from zero: one Activation.
void merge_logit(Graph& graph);
/// Layer normalisation, or one by the root of the mean of squares, in several nodes: one Normalise.
void merge_normalisation(Graph& graph);
/// Multiply and Add of a Normalise's output, which nobody else reads, and a constant.
void fuse_scales_and_shifts(Graph& graph);
/// Add of a Gemm's output, which nobody else reads, and a constant row.
void fuse_biases(Graph& graph);
/// Add and Multiply behind a permutation of a Gemm's output, which nobody else reads, go before it.
void sink_permutations(Graph& graph);
/// Multiply of a Gemm's output, which nobody else reads, by a constant row: the Gemm's matrix is scaled.
void fold_row_scales(Graph& graph);
/// Multiply of a Gemm's or Conv's output, also under another shape, by a number: the layer's constants are scaled.
void fold_layer_scales(Graph& graph);
/// Transposes and numbers that a Product multiplies become its own.
void simplify_products(Graph& graph);
/// Product, mask, Softmax, Product: one Attention, where nobody else reads what lies between.
void fuse_attention(Graph& graph);
/// Samples of several images beside each other, times a Softmax, and the sum of that: one DeformableAttention, where
/// nobody else reads what lies between.
void fuse_deformable_attention(Graph& graph);
/// What moves nothing becomes a Reshape, a Reshape of a Reshape one, and a Concat of slices of one tensor a Gather;
/// dimensions are permuted before they are merged.
void simplify_moves(Graph& graph);
/// A Binary behind a Reshape of what nobody else reads goes before it, if it is a sum with what a layer computes, or
/// with what is permuted.
void sink_reshapes(Graph& graph);
/// Add of a Conv's or Gemm's output and another tensor of the same shape.
void fuse_residuals(Graph& graph);
/// A Binary of a tensor and one number is an Activation that scales; one of those after another becomes part of it.
void merge_scales(Graph& graph);
/// Add of a Multiply's output, which may be scaled, and another tensor: one MultiplyAdd, where nobody else reads what
/// lies between.
void fuse_multiply_adds(Graph& graph);
/// An Activation after Conv, Gemm, Product, Binary, MultiplyAdd, ScaleShift, Normalise, or a sum or extreme, whose
/// output nobody else reads.
void fuse_activations(Graph& graph);
/// Add of a Conv's output behind its activation, which nobody else reads, and another tensor of the same shape.
void fuse_late_residuals(Graph& graph);
/// Nodes and constants that no output depends on.
void remove_unused(Graph& graph);

} // namespace rtexec::tasks
