// Which integers the inputs of a network may hold: those that index a tensor must stay inside it.
#pragma once

#include <rtexec/workload.hpp>
#include "tasks/engine/graph/graph.hpp"

#include <optional>
#include <vector>

namespace rtexec::tasks {

/// By input of the graph. Absent: its values index nothing, or the network computes the index in a way that is not
/// followed: reshaped, moved, concatenated, and times and plus constants.
[[nodiscard]] std::vector<std::optional<InputRange>> input_ranges(const Graph& graph);

} // namespace rtexec::tasks
