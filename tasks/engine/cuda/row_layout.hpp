// Decides whether each four-dimensional tensor is stored row-major or with channels (the second dimension) last.
// Row-major is better than channels last if the network itself moves channels to the last dimension.
#pragma once

#include "tasks/engine/graph/graph.hpp"

#include <vector>

namespace rtexec::tasks::cuda {

/// Returns, for each tensor, true if it is stored row-major.
[[nodiscard]] std::vector<bool> row_layout(const Graph& graph);

} // namespace rtexec::tasks::cuda
