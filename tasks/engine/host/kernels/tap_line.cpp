#include "tasks/engine/host/kernels/tap_line.hpp"

#include "tasks/engine/host/kernels/vector.hpp"

#include <algorithm>

namespace rtexec::tasks::kernels {
namespace {

RTEXEC_INLINE void fill_zeros(float* line, std::int64_t n) {
  const Vector zeros = {};
  for (std::int64_t i = 0; i < n; i += lanes) store(line + i, zeros);
}

/// Copies `lanes` floats of x, every stride-th float, directly to the line. Does not assemble a vector in memory first,
/// because the load of that vector would have to wait for the stores.
RTEXEC_INLINE void copy_lanes(float* line, const float* x, std::int64_t stride) {
  if (stride == 2) {
    float odd[lanes];
    return split_pairs(line, odd, x);
  }
  Vector v;
  load_strided(v, x, stride);
  store(line, v);
}

RTEXEC_INLINE void copy_strided(float* line, const float* x, const float* end, std::int64_t stride, std::int64_t n) {
  for (std::int64_t i = 0; i < n; i += lanes) {
    if (x + (i + lanes) * stride <= end) {
      copy_lanes(line + i, x + i * stride, stride);
    } else {
      for (std::int64_t rest = i; rest < std::min(n, i + lanes); ++rest) line[rest] = x[rest * stride];
    }
  }
}

/// Returns the smallest i with i * stride >= n, clamped to [0, most].
RTEXEC_INLINE std::int64_t first_reaching(std::int64_t n, std::int64_t stride, std::int64_t most) {
  if (n <= 0) return 0;
  return std::min(stride == 1 ? n : (n + stride - 1) / stride, most);
}

RTEXEC_INLINE void fill_row(float* line, const TapView& v, std::int64_t stride, std::int64_t row, std::int64_t column,
                            std::int64_t count) {
  const auto in = row * v.stride_h + v.top;
  if (in < 0 || in >= v.in_h) return fill_zeros(line, count);
  const auto shift = column * stride + v.left;
  const auto first = first_reaching(-shift, stride, count),
             last = std::max(first_reaching(v.in_w - shift, stride, count), first);
  fill_zeros(line, first);
  copy_strided(line + first, v.x + in * v.in_w + first * stride + shift, v.end, stride, last - first);
  fill_zeros(line + last, count - last);
}

RTEXEC_INLINE void fill(float* line, const TapView& v, std::int64_t stride, std::int64_t row, std::int64_t column,
                        std::int64_t pixels) {
  for (; pixels > 0; ++row, column = 0) {
    const auto count = std::min(pixels, v.out_w - column);
    fill_row(line, v, stride, row, column, count);
    line += count;
    pixels -= count;
  }
}

} // namespace

RTEXEC_VECTORISED void fill_tap_line(float* line, const TapView& view, std::int64_t row, std::int64_t column,
                                     std::int64_t pixels) noexcept {
  if (view.stride_w == 1) fill(line, view, 1, row, column, pixels);
  else if (view.stride_w == 2) fill(line, view, 2, row, column, pixels);
  else fill(line, view, view.stride_w, row, column, pixels);
}

} // namespace rtexec::tasks::kernels
