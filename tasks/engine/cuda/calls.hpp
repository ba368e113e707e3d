// Lowers each operation of graph.hpp to kernel calls: chooses the kernel and its arguments. There is one function for
// each operation. The functions are grouped into the files that the comments below name.
#pragma once

#include "tasks/engine/cuda/lowering_context.hpp"
#include "tasks/engine/graph/graph.hpp"

namespace rtexec::tasks::cuda {

// int8_calls.cpp
/// Lowers node `number` if the plan of int8 layers (int8_plan.hpp) contains it. Returns false if the node does not
/// compute on 8-bit integers.
[[nodiscard]] bool lower_int8(LoweringContext& context, const Node& node, std::size_t number);
void lower(LoweringContext& context, const Node& node, const Quantise& quantise);
void lower(LoweringContext& context, const Node& node, const Dequantise& dequantise);

// element_calls.cpp
void lower(LoweringContext& context, const Node& node, const Activation& activation);
void lower(LoweringContext& context, const Node& node, const Cast&);
void lower(LoweringContext& context, const Node& node, const ScaleShift&);
void lower(LoweringContext& context, const Node& node, const Binary& binary);
void lower(LoweringContext& context, const Node& node, const Select&);
void lower(LoweringContext& context, const Node& node, const MultiplyAdd& operation);

// product_calls.cpp
void lower(LoweringContext& context, const Node& node, const Conv& conv);
void lower(LoweringContext& context, const Node& node, const Gemm& gemm);
void lower(LoweringContext& context, const Node& node, const Product& product);
void lower(LoweringContext& context, const Node& node, const IntegerMatMul&);
void lower(LoweringContext& context, const Node& node, const IntegerConv& operation);
void lower(LoweringContext& context, const Node& node, const Attention& attention);

// reduction_calls.cpp
void lower(LoweringContext& context, const Node& node, const Reduce& mean);
void lower(LoweringContext& context, const Node& node, const Softmax& softmax);
void lower(LoweringContext& context, const Node& node, const Normalise& normalise);
void lower(LoweringContext& context, const Node& node, const Lrn& lrn);
void lower(LoweringContext& context, const Node& node, const RunningSum& running);
void lower(LoweringContext& context, const Node& node, const TopIndices& top);

// recurrent_calls.cpp
/// Lowers a fused multi-layer RNN when `number` is the node of its first layer. Returns false if the node is not part
/// of a fused RNN.
[[nodiscard]] bool lower_stacked(LoweringContext& context, std::size_t number);
void lower(LoweringContext& context, const Node& node, const Recurrent& recurrent);

// moving_calls.cpp
void lower(LoweringContext& context, const Node& node, const Concat& concat);
void lower(LoweringContext& context, const Node& node, const Reshape&);
void lower(LoweringContext& context, const Node& node, const tasks::View& view);
void lower(LoweringContext& context, const Node& node, const Gather& gather);
void lower(LoweringContext& context, const Node& node, const Pad& operation);

// index_calls.cpp
void lower(LoweringContext& context, const Node& node, const Take& operation);
void lower(LoweringContext& context, const Node& node, const TakeElements& operation);
void lower(LoweringContext& context, const Node& node, const TakeSlices& operation);
void lower(LoweringContext& context, const Node& node, const Put& operation);

// sampling_calls.cpp
void lower(LoweringContext& context, const Node& node, const Pool& pool);
void lower(LoweringContext& context, const Node& node, const Resize& resize);
void lower(LoweringContext& context, const Node& node, const Resample& resample);
void lower(LoweringContext& context, const Node& node, const GridSample& sample);
void lower(LoweringContext& context, const Node& node, const DeformableAttention& attention);

} // namespace rtexec::tasks::cuda
