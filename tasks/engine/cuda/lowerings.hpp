// Lowers each operation of graph.hpp to kernel calls: chooses the kernel and its arguments. There is one function for
// each operation. The functions are grouped into the files that the comments below name.
#pragma once

#include "tasks/engine/cuda/lowering_context.hpp"
#include "tasks/engine/graph/graph.hpp"

namespace rtexec::tasks::cuda {

// int8_lowering.cpp
/// Lowers node number `number` and returns true if it is an int8 layer of the plan (int8_plan.hpp). Otherwise returns
/// false.
[[nodiscard]] bool lower_int8(LoweringContext& context, const Node& node, std::size_t number);
void lower(LoweringContext& context, const Node& node, const Quantise& quantise);
void lower(LoweringContext& context, const Node& node, const Dequantise& dequantise);

// element_lowering.cpp
void lower(LoweringContext& context, const Node& node, const Activation& activation);
void lower(LoweringContext& context, const Node& node, const Cast&);
void lower(LoweringContext& context, const Node& node, const ScaleShift&);
void lower(LoweringContext& context, const Node& node, const Binary& binary);
void lower(LoweringContext& context, const Node& node, const Where&);
void lower(LoweringContext& context, const Node& node, const MultiplyAdd& operation);

// matmul_lowering.cpp
void lower(LoweringContext& context, const Node& node, const Conv& conv);
void lower(LoweringContext& context, const Node& node, const Gemm& gemm);
void lower(LoweringContext& context, const Node& node, const MatMul& product);
void lower(LoweringContext& context, const Node& node, const IntegerMatMul&);
void lower(LoweringContext& context, const Node& node, const IntegerConv& operation);
void lower(LoweringContext& context, const Node& node, const Attention& attention);

// reduction_lowering.cpp
void lower(LoweringContext& context, const Node& node, const Reduce& mean);
void lower(LoweringContext& context, const Node& node, const Softmax& softmax);
void lower(LoweringContext& context, const Node& node, const LayerNorm& normalise);
void lower(LoweringContext& context, const Node& node, const Lrn& lrn);
void lower(LoweringContext& context, const Node& node, const CumSum& running);
void lower(LoweringContext& context, const Node& node, const TopK& top);

// recurrent_lowering.cpp
/// Lowers a fused multi-layer RNN if node number `number` is the node of its first layer. Returns false if the node is
/// not part of a fused RNN.
[[nodiscard]] bool lower_fused_rnn(LoweringContext& context, std::size_t number);
void lower(LoweringContext& context, const Node& node, const Recurrent& recurrent);

// moving_lowering.cpp
void lower(LoweringContext& context, const Node& node, const Concat& concat);
void lower(LoweringContext& context, const Node& node, const Reshape&);
void lower(LoweringContext& context, const Node& node, const tasks::View& view);
void lower(LoweringContext& context, const Node& node, const GatherConstant& gather);
void lower(LoweringContext& context, const Node& node, const Pad& operation);

// index_lowering.cpp
void lower(LoweringContext& context, const Node& node, const Gather& operation);
void lower(LoweringContext& context, const Node& node, const GatherElements& operation);
void lower(LoweringContext& context, const Node& node, const GatherND& operation);
void lower(LoweringContext& context, const Node& node, const Scatter& operation);

// sampling_lowering.cpp
void lower(LoweringContext& context, const Node& node, const Pool& pool);
void lower(LoweringContext& context, const Node& node, const Resize& resize);
void lower(LoweringContext& context, const Node& node, const Resample& resample);
void lower(LoweringContext& context, const Node& node, const GridSample& sample);
void lower(LoweringContext& context, const Node& node, const DeformableAttention& attention);

} // namespace rtexec::tasks::cuda
