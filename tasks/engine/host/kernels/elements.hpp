// Elements of inputs and outputs to those that the engine computes with, and back. No allocation, any thread.
#pragma once

#include <rtexec/tensor.hpp>

#include <cstddef>

namespace rtexec::tasks::kernels {

/// `count` elements of any type; integers of more than 24 bits and float64 are rounded to the nearest float.
void to_floats(float* to, ElementType type, const std::byte* from, std::size_t count) noexcept;
/// From a caller's element type to the engine's: floats as to_floats(), integers as they are, booleans as 0 and 1.
void stage_input(std::byte* to, ElementType type, const std::byte* from, std::size_t count) noexcept;
/// And back. float16: to the nearest, ties to even.
void stage_output(std::byte* to, ElementType type, const std::byte* from, std::size_t count) noexcept;

} // namespace rtexec::tasks::kernels
