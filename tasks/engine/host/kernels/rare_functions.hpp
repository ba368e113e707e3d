// Element functions that are rare in networks. They call the C library for each element.
#pragma once

#include "tasks/engine/graph/graph.hpp"

#include <cstddef>

namespace rtexec::tasks::kernels {

/// Computes y = f(x), for the kinds of activations that are not common (is_common()); element_functions.hpp computes
/// the common kinds. y and x may be the same array.
void activate_rarely(Activation f, float* y, const float* x, std::size_t n) noexcept;

} // namespace rtexec::tasks::kernels
