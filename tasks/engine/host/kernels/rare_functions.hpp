// Element functions that are rare in networks: one C library call for each element.
#pragma once

#include "tasks/engine/graph/graph.hpp"

#include <cstddef>

namespace rtexec::tasks::kernels {

/// y = f(x), for kinds that are not common (element_functions.hpp); y may be x.
void activate_rarely(Activation f, float* y, const float* x, std::size_t n) noexcept;

} // namespace rtexec::tasks::kernels
