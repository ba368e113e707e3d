// Factory functions for steps: one function for each operation of graph.hpp, except floating-point convolutions
// (conv.hpp).
#pragma once

#include "tasks/engine/graph/graph.hpp"
#include "tasks/engine/host/kernels/step.hpp"

#include <memory>

namespace rtexec::tasks::kernels {

using StepPointer = std::unique_ptr<Step>;

[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const Activation& activation);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const Cast& cast);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const Quantise& quantise);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const Dequantise& dequantise);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const Gemm& gemm);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const MatMul& product);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const IntegerMatMul& product);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const IntegerConv& conv);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const Attention& attention);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const Pool& pool);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const Binary& binary);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const Where& select);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const MultiplyAdd& operation);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const ScaleShift& scale_shift);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const Softmax& softmax);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const Reduce& reduce);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const CumSum& running);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const TopK& top);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const LayerNorm& normalise);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const Lrn& lrn);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const Concat& concat);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const View& view);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const GatherConstant& gather);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const Gather& take);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const GatherElements& take);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const GatherND& take);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const Scatter& put);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const Pad& pad);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const Resize& resize);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const Resample& resample);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const GridSample& sample);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const DeformableAttention& attention);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const RoiAlign& align);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const NonMaxSuppression& suppression);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const Recurrent& recurrent);

} // namespace rtexec::tasks::kernels
