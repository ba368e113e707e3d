// Pooling algorithms, each as a step.
#pragma once

#include "tasks/engine/graph/graph.hpp"
#include "tasks/engine/host/kernels/steps.hpp"

#include <vector>

namespace rtexec::tasks::kernels {

/// Pooling with interleaved channels, one in each lane of a vector register. For an average, `factors` holds the factor
/// of the window's sum for each output pixel.
[[nodiscard]] bool lanes_apply(const Pool& pool, const Shape& x);
[[nodiscard]] StepPointer make_lanes_pool(const Pool& pool, const Shape& x, const Shape& y, std::vector<float> factors);

} // namespace rtexec::tasks::kernels
