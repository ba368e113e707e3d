// Converts a camera's frame, or a decoded picture, to a network's input. The picture is letterboxed (scaled to fit with
// its aspect ratio kept, centred, grey bars) or stretched. It is normalised, and stored in the network's order of
// channels and dimensions.
//
// Each element is sampled from the frame: bilinear between the four nearest pixels, as darknet does. So a frame much
// larger than the network's input is sampled, not averaged. YUYV and NV12 are ITU-R BT.601 with limited range (luma 16
// to 235, chroma 16 to 240). Their pixels are clipped to [0, 255], with the chroma of their pair or square.
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

/// A view of pixels, in rows from the top.
struct Frame {
  PixelFormat format = PixelFormat::rgb24;
  Extent size;
  std::size_t stride = 0; // bytes from a row to the next one
  std::span<const std::uint8_t> bytes;
};

class FrameSampler {
 public:
  /// Makes a sampler for inputs with the shape and type of `tensor`. If `preprocessing` does not name a layout, [1, 3,
  /// height, width] is tried before [1, height, width, 3]. `preprocessing` must be valid.
  ///
  /// Floats become (value in [0, 1] - mean) / deviation, with the normalisation of `preprocessing`, or else of the
  /// tensor. uint8 become the pixels themselves, rounded to nearest.
  ///
  /// Returns bad_input for another shape, another type (holds_pixels()), no pixel, more than 16384 pixels on a side, or
  /// uint8 with a normalisation.
  [[nodiscard]] static Result<FrameSampler> make(const rtexec::Tensor& tensor, const Preprocessing& preprocessing = {});

  /// Returns the size of the network's input.
  [[nodiscard]] Extent extent() const noexcept { return network_; }

  /// Samples `frame` into the bytes of a tensor. No allocation. Returns bad_input if `tensor` has another size. Also
  /// returns bad_input if the frame has no pixels, has fewer bytes than its size and stride need, or is compressed
  /// (mjpg.hpp).
  [[nodiscard]] Status sample(const Frame& frame, std::span<std::byte> tensor) noexcept;

 private:
  /// Two neighbouring pixels, and the weight of the second.
  struct Tap {
    int first;
    int second;
    float weight;
  };
  /// A row of the frame, scaled to the width of the inner picture, in planes of red, green and blue from 0 to 255.
  struct Line {
    int number = -1; // row number in the frame; -1: none
    std::vector<float> rgb;
  };

  FrameSampler(const rtexec::Tensor& tensor, const Preprocessing& preprocessing, bool planar);
  [[nodiscard]] static Tap tap(int position, int inner_size, int frame_size) noexcept;
  /// Fetches the rows `tap.first` and `tap.second` of the frame, which may be equal.
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
