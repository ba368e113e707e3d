// Finds the ranges of integers that the inputs of a network may hold. An input that serves as indices into a tensor
// must hold valid indices only.
#pragma once

#include <rtexec/workload.hpp>
#include "tasks/engine/graph/graph.hpp"

#include <optional>
#include <vector>

namespace rtexec::tasks {

/// Returns the range of each graph input. A range is absent if the search finds no use of the input as an index. The
/// search follows reshapes, moves, concatenations, and products and sums with constants.
[[nodiscard]] std::vector<std::optional<InputRange>> input_ranges(const Graph& graph);

} // namespace rtexec::tasks
