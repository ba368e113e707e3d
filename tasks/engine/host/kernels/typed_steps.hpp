// Steps whose operands are not all floats; steps.hpp's makers choose them by the types of the operands.
#pragma once

#include "tasks/engine/host/kernels/steps.hpp"

namespace rtexec::tasks::kernels {

/// A comparison of integers or floats: writes booleans.
[[nodiscard]] StepPointer make_comparison_step(const Graph& graph, const Node& node, Binary::Kind kind);
/// Binary on integers or booleans, modulo 2^n.
[[nodiscard]] StepPointer make_integer_step(const Graph& graph, const Node& node, const Binary& binary);
/// absolute, sign and relu on integers.
[[nodiscard]] StepPointer make_integer_step(const Graph& graph, const Node& node, const Activation& activation);
/// is_nan, is_infinite, is_zero and is_not_zero: writes booleans.
[[nodiscard]] StepPointer make_truth_step(const Graph& graph, const Node& node, const Activation& activation);
/// sum, product, squares, minimum and maximum of integers, modulo 2^n.
[[nodiscard]] StepPointer make_integer_step(const Graph& graph, const Node& node, const Reduce& reduce);
/// The indices of extremes, as int64, of integers or floats. NaN is the largest value.
[[nodiscard]] StepPointer make_index_step(const Graph& graph, const Node& node, const Reduce& reduce);

} // namespace rtexec::tasks::kernels
