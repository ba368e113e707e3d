// Finds the integers that the inputs of a network may hold: indices into a tensor must stay inside it.
#pragma once

#include <rtexec/workload.hpp>
#include "tasks/engine/graph/graph.hpp"

#include <optional>
#include <vector>

namespace rtexec::tasks {

/// Returns one range for each graph input. A range is absent if the input is not used as an index, or not traceably.
/// The search traces reshapes, moves, concatenations, and products and sums with constants.
[[nodiscard]] std::vector<std::optional<InputRange>> input_ranges(const Graph& graph);

} // namespace rtexec::tasks
