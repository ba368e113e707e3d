// Simplifies a graph without changing its results. Batch normalisation is folded into the preceding convolution, and
// activations and residual sums are fused into the operation that produces their input. Operations that exporters write
// as several nodes become one, and unused nodes are removed.
#pragma once

#include "tasks/engine/graph/graph.hpp"

namespace rtexec::tasks {

/// Runs all passes below, in the order that optimise() in passes.cpp gives.
void optimise(Graph& graph);

/// Evaluates integer comparisons whose result follows from the bounds of their operands. Resolves each Where whose
/// condition is such a comparison.
void fold_known_values(Graph& graph);
/// Folds a ScaleShift into the Conv before it, if no other node reads the Conv's output.
void fold_scales(Graph& graph);
/// Merges x * sigmoid(x) into one Activation, if no other node reads the sigmoid.
void merge_swish(Graph& graph);
/// Merges a Gelu written as several nodes, exact or with tanh, into one Activation.
void merge_gelu(Graph& graph);
/// Merges log(p / (1 - p)) and the clips that keep p and 1 - p away from zero into one Activation.
void merge_logit(Graph& graph);
/// Merges a LayerNorm or RMSNorm written as several nodes into one LayerNorm.
void merge_normalisation(Graph& graph);
/// Fuses a multiplication and an addition with constants into the LayerNorm before them, if no other node reads the
/// LayerNorm's output.
void fuse_scales_and_shifts(Graph& graph);
/// Fuses the addition of a constant row into the Gemm before it, if no other node reads the Gemm's output.
void fuse_biases(Graph& graph);
/// Moves additions and multiplications that follow a permutation of a Gemm's output in front of the permutation, if no
/// other node reads the permuted tensor.
void sink_permutations(Graph& graph);
/// Folds a multiplication of a Gemm's output by a constant row into the Gemm's constant matrix, if no other node reads
/// the output.
void fold_row_scales(Graph& graph);
/// Folds a multiplication by a number into the constants of the Gemm or Conv before it, even if a Reshape lies between.
void fold_layer_scales(Graph& graph);
/// Folds transposes and scalar factors of the operands of a MatMul into the MatMul.
void simplify_matmuls(Graph& graph);
/// Fuses MatMul, mask, Softmax and MatMul into one Attention, if no other node reads the tensors between them.
void fuse_attention(Graph& graph);
/// Fuses a multi-scale deformable attention into one DeformableAttention. Its pattern is a sum of products: the
/// concatenated samples of several images times a Softmax. No other node may read the tensors between the pattern's
/// nodes.
void fuse_deformable_attention(Graph& graph);
/// Simplifies operations that move elements. A move that changes no order becomes a Reshape, consecutive Reshapes
/// become one, and a Concat of slices of one tensor becomes a Gather. A permutation that follows a Reshape moves in
/// front of the Reshape if the Reshape only merges dimensions.
void simplify_moves(Graph& graph);
/// Moves a Binary that follows a Reshape in front of the Reshape, if the Reshape's input has no other reader and its
/// output has no other reader. The Binary must be a sum that a layer can absorb, or the Reshape's input must be a
/// permuted tensor.
void sink_reshapes(Graph& graph);
/// Fuses the sum of two tensors of one shape into the Conv, Gemm, MatMul or LayerNorm that writes one of them.
void fuse_residuals(Graph& graph);
/// Turns a Binary of a tensor and one number into a scaling Activation, and merges consecutive scaling Activations.
void merge_scales(Graph& graph);
/// Fuses the sum of a tensor and a (possibly scaled) product of two tensors into one MultiplyAdd, if no other node
/// reads the product.
void fuse_multiply_adds(Graph& graph);
/// Fuses an Activation into the node before it, if no other node reads that node's output. That node must be a Conv,
/// Gemm, MatMul, Binary, MultiplyAdd, ScaleShift, LayerNorm, or a Reduce whose result is not an index.
void fuse_activations(Graph& graph);
/// Fuses the sum of an activated Conv's output and another tensor of the same shape into the Conv, if no other node
/// reads the output.
void fuse_late_residuals(Graph& graph);
/// Removes nodes and constants on which no output depends.
void remove_unused(Graph& graph);

} // namespace rtexec::tasks
