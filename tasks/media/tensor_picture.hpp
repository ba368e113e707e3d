// From a network's input back to the picture in it, for tools that show what the network sees: the inverse of
// frame.hpp.
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
  /// Of inputs that are like `tensor` and filled as `preprocessing` says: [1, 3, height, width], or else [1, height,
  /// width, 3], or one channel in the same places. bad_input: another shape or type (holds_pixels()), no pixel, more
  /// than 16384 pixels on a side.
  [[nodiscard]] static Result<TensorPicture> of(const rtexec::Tensor& tensor, const Preprocessing& preprocessing = {});

  /// Pixels of the tensor's `bytes`, in memory of `picture` where it has as much. One channel becomes grey; what the
  /// normalisation brings below black or above white, or to no number, becomes black or white.
  void read(std::span<const std::byte> bytes, Picture& picture) const;

 private:
  TensorPicture(const rtexec::Tensor& tensor, const Preprocessing& preprocessing, bool planar);
  template <class T> void read(const T* elements, Picture& picture) const;

  ElementType type_;
  Extent size_;
  std::size_t channels_;
  std::size_t pixel_, channel_;         // elements from one to the next one
  std::array<PixelValues, 3> values_{}; // by channel
};

} // namespace rtexec::tasks
