// The types of elements that each operation takes and gives: a part of the check in validation.hpp.
#pragma once

#include "tasks/engine/graph/validation.hpp"

namespace rtexec::tasks {

/// Throws Misfit if an operand or the output of `node` has a type that its operation does not take or give.
void check_operand_types(const Graph& graph, const Node& node);

} // namespace rtexec::tasks
