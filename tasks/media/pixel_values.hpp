// How the pixels of one channel become values of a network's input.
#pragma once

#include <rtexec/choices.hpp>
#include <rtexec/tensor.hpp>

#include <cstddef>

namespace rtexec::tasks {

/// value = byte * scale + offset
struct PixelValues {
  std::size_t colour; // red, green, blue
  float scale;
  float offset;
};

/// True if a tensor of this type can hold a picture: uint8, float16 and float32.
[[nodiscard]] bool holds_pixels(ElementType type);
/// Whether `preprocessing` says so itself, and the tensor's normalisation does not count.
[[nodiscard]] bool normalises(const Preprocessing& preprocessing);
/// Of channel `channel`, of three, of inputs that are like `tensor`: bytes themselves where it is of uint8.
[[nodiscard]] PixelValues pixel_values(const rtexec::Tensor& tensor, const Preprocessing& preprocessing,
                                       std::size_t channel);

} // namespace rtexec::tasks
