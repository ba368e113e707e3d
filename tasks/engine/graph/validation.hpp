// Checks that the operands of a node fit its operation in type and shape, so that no kernel reads or writes outside of
// a tensor.
#pragma once

#include "tasks/engine/graph/graph.hpp"

#include <optional>
#include <string>

namespace rtexec::tasks {

/// An operand that does not fit its operation, with a text that states the operation's requirement.
struct Misfit {
  std::string text;
  /// True: ONNX allows the operand, but the engine does not support it; false: the node is invalid.
  bool supported_by_onnx = false;
};

/// Returns the first misfit of `node`, or nullopt if all its operands fit. Precondition: every shape has dimensions of
/// at least 1, and at most max_elements elements.
[[nodiscard]] std::optional<Misfit> find_misfit(const Graph& graph, const Node& node);

} // namespace rtexec::tasks
