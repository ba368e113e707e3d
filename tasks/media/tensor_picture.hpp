// Converts a network's input back to a picture, for tools that show what the network sees: the inverse of frame.hpp.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/tensor.hpp>
#include "tasks/media/picture.hpp"
#include "tasks/media/pixel_values.hpp"

#include <array>
#include <cstddef>
#include <span>

namespace rtexec::tasks {

class TensorPicture {
 public:
  /// Makes a converter for inputs with the shape and type of `tensor` that were filled with `preprocessing`. The shape
  /// must be [1, 3, height, width] (tried first) or [1, height, width, 3], or one of these shapes with one channel.
  /// Returns bad_input for a shape that is none of these, a type that cannot hold pixels (holds_pixels()), an empty
  /// picture, or more than 16384 pixels on a side.
  [[nodiscard]] static Result<TensorPicture> of(const rtexec::Tensor& tensor, const Preprocessing& preprocessing = {});

  /// Converts the tensor's `bytes` to pixels of `picture`, whose memory is reused if it suffices. A single channel
  /// becomes grey. A value below black and NaN become black, and a value above white becomes white.
  void read(std::span<const std::byte> bytes, Picture& picture) const;

 private:
  TensorPicture(const rtexec::Tensor& tensor, const Preprocessing& preprocessing, bool planar);
  template <class T> void read(const T* elements, Picture& picture) const;

  ElementType type_;
  Extent size_;
  std::size_t channels_;
  /// Distance in elements between neighbouring pixels, and between neighbouring channels.
  std::size_t pixel_, channel_;
  std::array<PixelValues, 3> values_{}; // for each channel
};

} // namespace rtexec::tasks
