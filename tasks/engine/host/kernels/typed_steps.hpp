// Steps with operands that are not all floats. The factory functions in steps.hpp choose them by the types of the
// operands.
#pragma once

#include "tasks/engine/host/kernels/steps.hpp"

namespace rtexec::tasks::kernels {

/// Compares integers or floats, and writes booleans.
[[nodiscard]] StepPointer make_comparison_step(const Graph& graph, const Node& node, Binary::Kind kind);
/// Computes a Binary on integers or booleans, modulo 2^n.
[[nodiscard]] StepPointer make_integer_step(const Graph& graph, const Node& node, const Binary& binary);
/// Computes absolute, sign and relu on integers.
[[nodiscard]] StepPointer make_integer_step(const Graph& graph, const Node& node, const Activation& activation);
/// Computes is_nan, is_infinite, is_zero and is_not_zero, and writes booleans.
[[nodiscard]] StepPointer make_truth_step(const Graph& graph, const Node& node, const Activation& activation);
/// Reduces integers of n bits: computes their sum, product or sum of squares modulo 2^n, or their minimum or maximum.
[[nodiscard]] StepPointer make_integer_step(const Graph& graph, const Node& node, const Reduce& reduce);
/// Computes the indices of extremes of integers or floats, as int64. NaN is the largest value.
[[nodiscard]] StepPointer make_index_step(const Graph& graph, const Node& node, const Reduce& reduce);

} // namespace rtexec::tasks::kernels
