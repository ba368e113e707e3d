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
  /// Makes a converter for inputs like `tensor` that were filled with `preprocessing`. Shapes are [1, 3, height,
  /// width], else [1, height, width, 3], or the same with one channel. Returns bad_input for another shape or type
  /// (holds_pixels()), no pixel, or more than 16384 pixels on a side.
  [[nodiscard]] static Result<TensorPicture> of(const rtexec::Tensor& tensor, const Preprocessing& preprocessing = {});

  /// Converts the tensor's `bytes` to pixels of `picture`, whose memory is reused if it suffices. One channel becomes
  /// grey. Values that denormalise to below black, above white or no number become black or white.
  void read(std::span<const std::byte> bytes, Picture& picture) const;

 private:
  TensorPicture(const rtexec::Tensor& tensor, const Preprocessing& preprocessing, bool planar);
  template <class T> void read(const T* elements, Picture& picture) const;

  ElementType type_;
  Extent size_;
  std::size_t channels_;
  std::size_t pixel_, channel_;         // distance between neighbouring pixels, and between channels, in elements
  std::array<PixelValues, 3> values_{}; // by channel
};

} // namespace rtexec::tasks
