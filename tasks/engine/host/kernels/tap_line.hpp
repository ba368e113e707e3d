// Collects the inputs that one tap of a window reads while the window moves over the picture. These inputs are a row of
// an im2col panel.
#pragma once

#include <cstdint>

namespace rtexec::tasks::kernels {

struct TapView {
  const float* x; // in_h * in_w pixels; memory before `end` may be read
  const float* end;
  std::int64_t in_h, in_w, out_w;
  std::int64_t stride_h, stride_w;
  std::int64_t top, left; // position of the tap in the first window
};

/// Writes to `line` the inputs that the tap reads in `pixels` consecutive windows, beginning with the window at `row`
/// and `column`. Inputs outside the picture are zero. Writes whole vectors: up to one vector of floats after the line
/// is overwritten, too.
void fill_tap_line(float* line, const TapView& view, std::int64_t row, std::int64_t column,
                   std::int64_t pixels) noexcept;

} // namespace rtexec::tasks::kernels
