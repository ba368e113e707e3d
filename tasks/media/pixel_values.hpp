// The conversion of the pixels of one channel to values of a network's input.
#pragma once

#include <rtexec/choices.hpp>
#include <rtexec/tensor.hpp>

#include <cstddef>

namespace rtexec::tasks {

/// value = byte * scale + offset
struct PixelValues {
  std::size_t colour; // 0: red, 1: green, 2: blue
  float scale;
  float offset;
};

/// True if a tensor of this type can hold a picture: uint8, float16 and float32.
[[nodiscard]] bool holds_pixels(ElementType type);
/// True if `preprocessing` has a normalisation of its own, which replaces the tensor's.
[[nodiscard]] bool normalises(const Preprocessing& preprocessing);
/// Returns the conversion for channel `channel` (0 to 2) of inputs like `tensor`. For uint8 it returns bytes unchanged.
[[nodiscard]] PixelValues pixel_values(const rtexec::Tensor& tensor, const Preprocessing& preprocessing,
                                       std::size_t channel);

} // namespace rtexec::tasks
