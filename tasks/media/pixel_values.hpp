// The conversion of the pixels of one channel to values of a network's input.
#pragma once

#include <rtexec/choices.hpp>
#include <rtexec/tensor.hpp>

#include <cstddef>

namespace rtexec::tasks {

/// Converts a byte of a pixel: value = byte * scale + offset.
struct PixelValues {
  std::size_t colour; // 0: red, 1: green, 2: blue
  float scale;
  float offset;
};

/// True if a tensor of type `type` can hold a picture: uint8, float16 or float32.
[[nodiscard]] bool holds_pixels(ElementType type);
/// True if `preprocessing` has a normalisation, which then replaces the normalisation of the tensor.
[[nodiscard]] bool normalises(const Preprocessing& preprocessing);
/// Returns the conversion for channel `channel` (0 to 2) of inputs with the type and normalisation of `tensor`. The
/// conversion for uint8 does not change bytes.
[[nodiscard]] PixelValues pixel_values(const rtexec::Tensor& tensor, const Preprocessing& preprocessing,
                                       std::size_t channel);

} // namespace rtexec::tasks
