// A camera's frame, or a decoded picture, into a network's input: letterboxed (scaled to fit with its aspect ratio
// kept, centred, grey bars) or stretched, normalised, and in the network's order of channels and dimensions.
//
// Each element is sampled from the frame itself: bilinear between the four nearest pixels, as darknet does, so a frame
// much larger than the network is sampled, not averaged. A pixel of YUYV or NV12 is that of ITU-R BT.601 with limited
// range (luma 16 to 235, chroma 16 to 240), clipped to [0, 255], with the chroma of its pair or square.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/choices.hpp>
#include <rtexec/tensor.hpp>
#include "tasks/media/letterbox.hpp"
#include "tasks/media/pixel_values.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rtexec::tasks {

/// Someone else's pixels, rows from the top.
struct Frame {
  PixelFormat format = PixelFormat::rgb24;
  Extent size;
  std::size_t stride = 0; // bytes from a row to the next one
  std::span<const std::uint8_t> bytes;
};

class FrameSampler {
 public:
  /// For an input that is like `tensor`: [1, 3, height, width], or else [1, height, width, 3], where `preprocessing`,
  /// a valid one, does not say which. Floats are (value in [0, 1] - mean) / deviation, of the tensor, or as
  /// `preprocessing` says; uint8 are the pixels themselves, rounded to the nearest. bad_input: another shape or
  /// type (holds_pixels()), no pixel, more than 16384 pixels on a side, uint8 that are to be normalised.
  [[nodiscard]] static Result<FrameSampler> make(const rtexec::Tensor& tensor, const Preprocessing& preprocessing = {});

  /// Of the network's input.
  [[nodiscard]] Extent extent() const noexcept { return network_; }

  /// Into the bytes of that tensor. No allocation. bad_input: `tensor` is not as large, or the frame has no pixels,
  /// fewer bytes than its size and stride say, or is compressed (mjpg.hpp).
  [[nodiscard]] Status sample(const Frame& frame, std::span<std::byte> tensor) noexcept;

 private:
  /// Two neighbouring pixels, and the weight of the second.
  struct Tap {
    int first;
    int second;
    float weight;
  };
  /// A row of the frame, as wide as the inner picture: planes of red, green and blue, from 0 to 255.
  struct Line {
    int number = -1; // in the frame; -1: none
    std::vector<float> rgb;
  };

  FrameSampler(const rtexec::Tensor& tensor, const Preprocessing& preprocessing, bool planar);
  [[nodiscard]] static Tap tap(int position, int inner_size, int frame_size) noexcept;
  /// The rows `tap.first` and `tap.second` of the frame, which may be the same.
  void fetch_lines(const Frame& frame, const Tap& tap, int width) noexcept;
  void fetch(const Frame& frame, Line& line, int number, int width) const noexcept;
  template <class Pixels> void across(const Pixels& pixels, float* rgb, int width) const noexcept;
  template <class Row> void across_yuv(const Row& row, float* rgb, int width) const noexcept;
  void blend(std::span<std::byte> tensor, const Letterbox& box, int row, float weight) const noexcept;
  template <class T> void fill(T* tensor) const noexcept;
  template <class T> void blend(T* tensor, const Letterbox& box, int row, float weight) const noexcept;

  ElementType type_;
  bool planar_;
  PictureFit fit_;
  Extent network_;
  std::array<PixelValues, 3> values_; // by channel
  std::vector<Tap> columns_;
  Line above_, below_;
};

} // namespace rtexec::tasks
