// Pools, each algorithm a step.
#pragma once

#include "tasks/engine/graph/graph.hpp"
#include "tasks/engine/host/kernels/steps.hpp"

#include <vector>

namespace rtexec::tasks::kernels {

/// With channels side by side. `factors`: what an average's sum is multiplied by, for each pixel of the output.
[[nodiscard]] bool lanes_apply(const Pool& pool, const Shape& x);
[[nodiscard]] StepPointer make_lanes_pool(const Pool& pool, const Shape& x, const Shape& y, std::vector<float> factors);

} // namespace rtexec::tasks::kernels
