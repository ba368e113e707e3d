// What one tap of a window sees of a picture, as the window moves: a row of a panel of windows.
#pragma once

#include <cstdint>

namespace rtexec::tasks::kernels {

struct TapView {
  const float* x; // of in_h * in_w pixels; nothing is read from `end` on
  const float* end;
  std::int64_t in_h, in_w, out_w;
  std::int64_t stride_h, stride_w;
  std::int64_t top, left; // where the tap is when the window is at its first place
};

/// What the tap sees at `pixels` places, from that in `row` and `column` on: zero outside of the picture. Written in
/// whole vectors: up to a vector's floats behind the line change too.
void fill_tap_line(float* line, const TapView& view, std::int64_t row, std::int64_t column,
                   std::int64_t pixels) noexcept;

} // namespace rtexec::tasks::kernels
