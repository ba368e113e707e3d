// Converts elements of inputs and outputs to and from the engine's representation. The functions do not allocate, and
// any thread may call them.
#pragma once

#include <rtexec/tensor.hpp>

#include <cstddef>

namespace rtexec::tasks::kernels {

/// Converts `count` elements of any type to floats. Integers of more than 24 bits and float64 are rounded to the
/// nearest float.
void to_floats(float* to, ElementType type, const std::byte* from, std::size_t count) noexcept;
/// Converts elements from the caller's type to the engine's representation: floats as in to_floats(), integers
/// unchanged, booleans to 0 and 1.
void stage_input(std::byte* to, ElementType type, const std::byte* from, std::size_t count) noexcept;
/// Converts elements from the engine's representation to the caller's type. float16 is rounded to the nearest value,
/// ties to even.
void stage_output(std::byte* to, ElementType type, const std::byte* from, std::size_t count) noexcept;

} // namespace rtexec::tasks::kernels
