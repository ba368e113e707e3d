// Elements of inputs and outputs to the floats that the engine computes in, and back. No allocation, any thread.
#pragma once

#include <rtexec/tensor.hpp>

#include <cstddef>

namespace rtexec::tasks::kernels {

/// `count` elements; integers of more than 24 bits and float64 are rounded to the nearest float.
void to_floats(float* to, ElementType type, const std::byte* from, std::size_t count) noexcept;
/// float16: to the nearest, ties to even. Integers: towards zero, what is too large or too small becomes the nearest
/// there is, and what is no number becomes 0.
void from_floats(std::byte* to, ElementType type, const float* from, std::size_t count) noexcept;

} // namespace rtexec::tasks::kernels
