// Checks the element types of the operands and the output of each operation, as a part of validation.hpp.
#pragma once

#include "tasks/engine/graph/validation.hpp"

namespace rtexec::tasks {

/// Throws Misfit if an operand or the output of `node` has a type that its operation does not support.
void check_operand_types(const Graph& graph, const Node& node);

} // namespace rtexec::tasks
