// Pooling algorithms, each as a step.
#pragma once

#include "tasks/engine/graph/graph.hpp"
#include "tasks/engine/host/kernels/steps.hpp"

#include <vector>

namespace rtexec::tasks::kernels {

/// Pooling with interleaved channels: each lane of a vector register computes one channel. For an average, `factors`
/// holds for each output pixel the factor by which the window's sum is multiplied.
[[nodiscard]] bool lanes_apply(const Pool& pool, const Shape& x);
[[nodiscard]] StepPointer make_lanes_pool(const Pool& pool, const Shape& x, const Shape& y, std::vector<float> factors);

} // namespace rtexec::tasks::kernels
