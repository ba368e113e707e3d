// The steps other than convolutions: one factory function for each operation of graph.hpp.
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
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const Product& product);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const IntegerMatMul& product);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const IntegerConv& conv);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const Attention& attention);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const Pool& pool);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const Binary& binary);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const Select& select);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const MultiplyAdd& operation);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const ScaleShift& scale_shift);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const Softmax& softmax);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const Reduce& reduce);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const RunningSum& running);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const TopIndices& top);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const Normalise& normalise);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const Lrn& lrn);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const Concat& concat);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const View& view);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const Gather& gather);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const Take& take);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const TakeElements& take);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const TakeSlices& take);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const Put& put);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const Pad& pad);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const Resize& resize);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const Resample& resample);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const GridSample& sample);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const DeformableAttention& attention);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const RegionAlign& align);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const NonMaxSuppression& suppression);
[[nodiscard]] StepPointer make_step(const Graph& graph, const Node& node, const Recurrent& recurrent);

} // namespace rtexec::tasks::kernels
