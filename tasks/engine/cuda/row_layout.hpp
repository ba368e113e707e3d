// Which tensors of four dimensions are better off row-major than with their second dimension last: those of networks
// that keep channels last themselves.
#pragma once

#include "tasks/engine/graph/graph.hpp"

#include <vector>

namespace rtexec::tasks::cuda {

/// By tensor.
[[nodiscard]] std::vector<bool> row_layout(const Graph& graph);

} // namespace rtexec::tasks::cuda
