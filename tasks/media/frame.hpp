// Converts a camera's frame or a decoded picture to a network's input. The picture is either letterboxed (scaled to fit
// with its aspect ratio kept, centred, grey bars) or stretched. The picture is normalised, and stored in the network's
// order of channels and dimensions.
//
// Each element is interpolated bilinearly between the four nearest pixels of the frame, as darknet does. A frame that
// is much larger than the network's input is therefore sampled, not averaged. YUYV and NV12 are ITU-R BT.601 with
// limited range (luma 16 to 235, chroma 16 to 240). Two pixels of YUYV, or four pixels (2x2) of NV12, share their
// chroma. Converted pixels are clipped to [0, 255].
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

/// A view of pixels, row by row from the top.
struct Frame {
  PixelFormat format = PixelFormat::rgb24;
  Extent size;
  std::size_t stride = 0; // bytes from the start of a row to the start of the next row
  std::span<const std::uint8_t> bytes;
};

class FrameSampler {
 public:
  /// Makes a sampler for inputs with the shape and type of `tensor`. If `preprocessing` names no layout, tries [1, 3,
  /// height, width] before [1, height, width, 3]. `preprocessing` must be valid.
  ///
  /// Floats become (value in [0, 1] - mean) / deviation. The normalisation of `preprocessing` applies if there is
  /// one, otherwise the normalisation of the tensor. uint8 elements become the pixels themselves, rounded to nearest.
  ///
  /// Returns bad_input if the tensor's shape fits no permitted layout, or if its type cannot hold pixels
  /// (holds_pixels()). Also returns bad_input for an empty picture, for more than 16384 pixels on a side, and for uint8
  /// with a normalisation.
  [[nodiscard]] static Result<FrameSampler> make(const rtexec::Tensor& tensor, const Preprocessing& preprocessing = {});

  /// Returns the size of the network's input in pixels.
  [[nodiscard]] Extent extent() const noexcept { return network_; }

  /// Samples `frame` into the bytes of a tensor. Does not allocate. Returns bad_input if the size of `tensor` differs
  /// from its size in make(). Also returns bad_input if the frame has no pixels, has fewer bytes than its size and
  /// stride need, or is compressed (decode such a frame with mjpg.hpp).
  [[nodiscard]] Status sample(const Frame& frame, std::span<std::byte> tensor) noexcept;

 private:
  /// Two neighbouring pixels of a frame in one direction, and the weight of the second pixel in their weighted mean.
  struct Tap {
    int first;
    int second;
    float weight;
  };
  /// A row of the frame, scaled to the width of the picture inside the network's input (Letterbox::inner). The line has
  /// planes of red, green and blue, with values from 0 to 255.
  struct Line {
    int number = -1; // row number in the frame; -1: the line holds no row
    std::vector<float> rgb;
  };

  FrameSampler(const rtexec::Tensor& tensor, const Preprocessing& preprocessing, bool planar);
  [[nodiscard]] static Tap tap(int position, int inner_size, int frame_size) noexcept;
  /// Ensures that the rows `tap.first` and `tap.second` of the frame are scaled and in memory. `tap.first` and
  /// `tap.second` may be equal.
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
  std::array<PixelValues, 3> values_; // for each channel
  std::vector<Tap> columns_;
  Line above_, below_;
};

} // namespace rtexec::tasks
