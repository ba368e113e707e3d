// Decides which four-dimensional tensors are better stored row-major than with their second dimension last. They are
// those of networks that keep channels last themselves.
#pragma once

#include "tasks/engine/graph/graph.hpp"

#include <vector>

namespace rtexec::tasks::cuda {

/// Returns, for each tensor, true if it is stored row-major.
[[nodiscard]] std::vector<bool> row_layout(const Graph& graph);

} // namespace rtexec::tasks::cuda
