// Checks that the operands of a node fit its operation, so that no kernel reads or writes outside of a tensor.
#pragma once

#include "tasks/dnn/graph/graph.hpp"

#include <optional>
#include <string>

namespace rtexec::tasks {

/// Returns the first operand of `node` that does not fit its operation and what the operation needs instead, or nullopt
/// if all fit. Every shape must have dimensions of at least 1 and at most max_elements elements.
[[nodiscard]] std::optional<std::string> find_misfit(const Graph& graph, const Node& node);

} // namespace rtexec::tasks
