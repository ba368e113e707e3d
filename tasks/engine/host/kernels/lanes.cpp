#include "tasks/engine/host/kernels/lanes.hpp"

#include "tasks/engine/host/kernels/tiles.hpp"
#include "tasks/base/vectorised.hpp"

#include <algorithm>
#include <cstring>

namespace rtexec::tasks::kernels {
namespace {

using Kind = Lanes::Kind;

constexpr std::int64_t few_columns = 7; // columns computed together: small pictures often have 7 or 14 columns

template <std::size_t floats> struct Register {
  typedef float Type __attribute__((vector_size(floats * sizeof(float))));
};

template <Kind kind, class R> RTEXEC_INLINE void take(R& sum, const R& pixel, [[maybe_unused]] const R& weight) {
  if constexpr (kind == Kind::products) sum += pixel * weight;
  else if constexpr (kind == Kind::maximum) sum = sum < pixel ? pixel : sum;
  else sum += pixel;
}

/// The geometry of a window as compile-time constants, which apply to both directions.
struct Moves {
  std::size_t kernel, stride = 1, dilation = 1;
};

/// Consecutive output columns of a row, and the position of their windows.
struct OutputColumns {
  const float* x; // input row of the first vertical tap
  Rows taps;
  std::int64_t left;           // input column of the first tap of the first window
  std::int64_t pixel, columns; // number of the first output pixel; number of output columns that are used
};

template <std::size_t floats, Kind kind, Moves moves, std::size_t columns>
RTEXEC_INLINE void run_columns(const Lanes& l, const OutputColumns& at, float* y) {
  using R = typename Register<floats>::Type;
  constexpr auto kernel = moves.kernel, stride = moves.stride, dilation = moves.dilation;
  constexpr auto pitch = static_cast<std::int64_t>(floats * dilation);
  R sums[columns], begin = {};
  if constexpr (kind == Kind::maximum) begin -= std::numeric_limits<float>::infinity();
  if (kind == Kind::products && l.bias) std::memcpy(&begin, l.bias, sizeof begin);
  for (auto& sum : sums) sum = begin;
  const float* x = at.x;
  for (auto kh = at.taps.first; kh < at.taps.last; ++kh, x += l.in_w * pitch) {
    R weights[kernel] = {};
    for (std::size_t kw = 0; kind == Kind::products && kw < kernel; ++kw)
      std::memcpy(&weights[kw], l.weights + (static_cast<std::size_t>(kh) * kernel + kw) * floats, sizeof(R));
#pragma GCC unroll 64
    for (std::size_t p = 0; p < (columns - 1) * stride + (kernel - 1) * dilation + 1; ++p) {
      const auto column = at.left + static_cast<std::int64_t>(p);
      if (column < 0 || column >= l.in_w) continue;
      R pixel;
      std::memcpy(&pixel, x + column * static_cast<std::int64_t>(floats), sizeof pixel);
#pragma GCC unroll 8
      for (std::size_t kw = 0; kw < kernel; ++kw)
        if (const auto from = p - kw * dilation; p >= kw * dilation && from % stride == 0 && from / stride < columns)
          take<kind>(sums[from / stride], pixel, weights[kw]);
    }
  }
  const R low = R{} + l.bounds.low, high = R{} + l.bounds.high;
#pragma GCC unroll 16
  for (std::size_t i = 0; i < columns; ++i) {
    if (static_cast<std::int64_t>(i) >= at.columns) break;
    R sum = sums[i];
    if constexpr (kind == Kind::average) sum *= l.factors[at.pixel + static_cast<std::int64_t>(i)];
    if constexpr (kind == Kind::products) {
      sum = sum < low ? low : sum;
      sum = sum > high ? high : sum;
    }
    std::memcpy(y + i * floats, &sum, sizeof sum);
  }
}

/// A band of output rows, with the input that it reads. The input begins with row `x_first`.
struct Band {
  const float* x;
  std::int64_t x_first;
  Rows rows;
  float* y;
};

template <std::size_t floats, Kind kind, Moves moves, std::int64_t at_once>
RTEXEC_INLINE void run_rows(const Lanes& l, const Band& band) {
  constexpr auto width = static_cast<std::int64_t>(floats), step = static_cast<std::int64_t>(moves.stride),
                 dilation = static_cast<std::int64_t>(moves.dilation);
  float* y = band.y;
  for (auto row = band.rows.first; row < band.rows.last; ++row, y += l.out_w * width) {
    const auto top = row * step - l.window.pad_top;
    const Rows taps{std::max<std::int64_t>(0, (dilation - 1 - top) / dilation),
                    std::min(static_cast<std::int64_t>(moves.kernel), (l.in_h - top + dilation - 1) / dilation)};
    const float* x = band.x + (top + taps.first * dilation - band.x_first) * l.in_w * width;
    for (std::int64_t column = 0; column < l.out_w; column += at_once)
      run_columns<floats, kind, moves, at_once>(
          l, {x, taps, column * step - l.window.pad_left, row * l.out_w + column, std::min(at_once, l.out_w - column)},
          y + column * width);
  }
}

/// Computes a band. Computes twice as many columns together if that number fits the length of the rows and there are
/// enough registers.
template <std::size_t floats, Kind kind, Moves moves> RTEXEC_INLINE void run_moves(const Lanes& l, const Band& band) {
  if constexpr (floats == 16)
    if (rounded_up(l.out_w, few_columns) % (2 * few_columns) == 0)
      return run_rows<floats, kind, moves, 2 * few_columns>(l, band);
  run_rows<floats, kind, moves, few_columns>(l, band);
}

template <std::size_t floats, Kind kind, std::size_t kernel>
RTEXEC_INLINE void run_kernel(const Lanes& l, const Band& band) {
  if constexpr (kind == Kind::products && kernel < 7)
    if (l.window.dilation_h == 2) return run_moves<floats, kind, Moves{kernel, 1, 2}>(l, band);
  if (l.window.stride_h == 1) run_moves<floats, kind, Moves{kernel}>(l, band);
  else run_moves<floats, kind, Moves{kernel, 2}>(l, band);
}

template <std::size_t floats> RTEXEC_INLINE void run_any(const Lanes& l, const Band& band) {
  const auto is = [&](Kind kind, std::int64_t kernel) __attribute__((always_inline)) {
    return l.kind == kind && l.window.kernel_h == kernel;
  };
  if (is(Kind::products, 3)) return run_kernel<floats, Kind::products, 3>(l, band);
  if (is(Kind::products, 5)) return run_kernel<floats, Kind::products, 5>(l, band);
  if (is(Kind::products, 7)) return run_kernel<floats, Kind::products, 7>(l, band);
  if (is(Kind::maximum, 2)) return run_kernel<floats, Kind::maximum, 2>(l, band);
  if (is(Kind::maximum, 3)) return run_kernel<floats, Kind::maximum, 3>(l, band);
  if (is(Kind::maximum, 5)) return run_kernel<floats, Kind::maximum, 5>(l, band);
  if (is(Kind::average, 2)) return run_kernel<floats, Kind::average, 2>(l, band);
  if (is(Kind::average, 3)) return run_kernel<floats, Kind::average, 3>(l, band);
}

#if defined(__x86_64__)
RTEXEC_TARGET("arch=x86-64-v4") void run_16(const Lanes& lanes, const Band& band) noexcept { run_any<16>(lanes, band); }
RTEXEC_TARGET("arch=x86-64-v3") void run_8(const Lanes& lanes, const Band& band) noexcept { run_any<8>(lanes, band); }
#endif
RTEXEC_BASELINE void run_4(const Lanes& lanes, const Band& band) noexcept { run_any<4>(lanes, band); }

} // namespace

std::int64_t lane_count() noexcept { return tile_shape().step; }

bool has_lanes(Kind kind, const Window& w) {
  const bool compiled = kind == Kind::products
                            ? w.kernel_h == 3 || w.kernel_h == 5 || w.kernel_h == 7
                            : w.kernel_h == 2 || w.kernel_h == 3 || (kind == Kind::maximum && w.kernel_h == 5);
  const bool dilated = kind == Kind::products && w.kernel_h < 7 && w.stride_h == 1 && w.dilation_h == 2;
  return compiled && w.kernel_h == w.kernel_w && w.stride_h == w.stride_w && w.stride_h <= 2 &&
         (w.dilation_h == 1 || dilated) && w.dilation_w == w.dilation_h;
}

void run_lanes(const Lanes& lanes, const float* x, std::int64_t x_first, const Rows& rows, float* y) noexcept {
#if defined(__x86_64__)
  if (lane_count() == 16) return run_16(lanes, {x, x_first, rows, y});
  if (lane_count() == 8) return run_8(lanes, {x, x_first, rows, y});
#endif
  run_4(lanes, {x, x_first, rows, y});
}

} // namespace rtexec::tasks::kernels
