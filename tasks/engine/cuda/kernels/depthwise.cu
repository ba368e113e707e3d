// Depthwise convolutions: each group has one channel of x. A thread computes two neighbouring channels. It computes
// them for one pixel of y, or for several neighbouring pixels of a row, which share their loads. Weights are stored tap
// by tap, [kernel_h][kernel_w][channels of y], so that neighbouring threads read neighbouring addresses. The operands
// of a kernel row are loaded while the previous row is added up.
#include "tasks/engine/cuda/kernels/activation.cuh"
#include "tasks/engine/cuda/kernels/items.cuh"

namespace rtexec::tasks::cuda {
namespace {

/// The work of a thread: neighbouring channels of one or more neighbouring pixels in a row. `out` is the first of these
/// pixels.
template <class Scalar> struct DepthwiseItem {
  const Scalar *x, *weights; // addresses of the item's first channel
  int channel, all;          // first channel of y; number of all channels of y
  Pixel out;
  int top, left; // top left corner of the first pixel's window

  DEVICE DepthwiseItem(const ConvArguments& p, const Pixel& first, int first_channel)
      : x(static_cast<const Scalar*>(p.x) + first_channel / p.out_channels),
        weights(static_cast<const Scalar*>(p.weights) + first_channel),
        channel(first_channel),
        all(p.groups * p.out_channels),
        out(first),
        top(first.h * p.stride_h - p.pad_top),
        left(first.w * p.stride_w - p.pad_left) {}
};

/// The operands of `width` taps of one kernel row for `strip` neighbouring pixels of y, as stored. `strip` may exceed
/// one only if neighbouring pixels of y read neighbouring pixels of x.
template <class Scalar, int count, int width, int strip> struct DepthwiseTaps {
  static constexpr int span = width + strip - 1;
  using Part = Stored<Scalar, count>;
  Part x[span], weights[width];

  /// Loads the operands of kernel row `kh`. Operands are zero outside of x, and if the kernel has no row `kh`.
  DEVICE void load(const ConvArguments& p, const DepthwiseItem<Scalar>& item, int kh, int first_kw) {
    const int h = item.top + kh * p.dilation_h;
    const bool inside = kh < p.kernel_h && h >= 0 && h < p.height;
    const Scalar* row = item.x + pixel_offset(item.out.n, h, 0, p.height, p.width, p.x_stride);
    const Scalar* factors = item.weights + static_cast<long long>(kh * p.kernel_w + first_kw) * item.all;
#pragma unroll
    for (int i = 0; i < span; ++i) {
      const int w = item.left + (first_kw + i) * p.dilation_w;
      x[i] = {};
      if (inside && w >= 0 && w < p.width) x[i].load(row + static_cast<long long>(w) * p.x_stride);
    }
#pragma unroll
    for (int kw = 0; kw < width; ++kw) {
      weights[kw] = {};
      if (inside) weights[kw].load(factors + static_cast<long long>(kw) * item.all);
    }
  }
  DEVICE void add_to(float (&sums)[strip][count]) const {
#pragma unroll
    for (int i = 0; i < count; ++i) {
      float values[span];
#pragma unroll
      for (int j = 0; j < span; ++j) values[j] = x[j].value(i);
#pragma unroll
      for (int kw = 0; kw < width; ++kw) {
        const float factor = weights[kw].value(i);
#pragma unroll
        for (int s = 0; s < strip; ++s) sums[s][i] = multiply_add(values[s + kw], factor, sums[s][i]);
      }
    }
  }
};

/// Adds up the products of a kernel whose rows have `width` taps.
template <class Scalar, int count, int width, int strip>
DEVICE void add_rows(const ConvArguments& p, const DepthwiseItem<Scalar>& item, float (&sums)[strip][count]) {
  DepthwiseTaps<Scalar, count, width, strip> taps;
  taps.load(p, item, 0, 0);
#pragma unroll 1
  for (int kh = 0; kh < p.kernel_h; ++kh) {
    const auto own = taps;
    taps.load(p, item, kh + 1, 0);
    own.add_to(sums);
  }
}
/// Adds up the products of a kernel of any size, for one pixel.
template <class Scalar, int count>
DEVICE void add_taps(const ConvArguments& p, const DepthwiseItem<Scalar>& item, float (&sums)[1][count]) {
  DepthwiseTaps<Scalar, count, 1, 1> tap;
#pragma unroll 1
  for (int kh = 0; kh < p.kernel_h; ++kh)
#pragma unroll 4
    for (int kw = 0; kw < p.kernel_w; ++kw) {
      tap.load(p, item, kh, kw);
      tap.add_to(sums);
    }
}

template <class Scalar, int count>
DEVICE void finish_pixel(const ConvArguments& p, float (&sums)[count], long long pixel, int channel) {
  Elements<Scalar, count> result;
  if (p.bias)
#pragma unroll
    for (int i = 0; i < count; ++i) sums[i] += p.bias[channel + i];
  if (p.residual) result.load(static_cast<const Scalar*>(p.residual) + pixel * p.residual_stride + channel);
#pragma unroll
  for (int i = 0; i < count; ++i) result.values[i] = finished(p, sums[i], p.residual ? result.values[i] : 0.0F);
  result.store(static_cast<Scalar*>(p.y) + pixel * p.y_stride + channel);
}

template <class Scalar, int count, int strip>
DEVICE void depthwise_item(const ConvArguments& p, const Pixel& out, int channel) {
  const DepthwiseItem<Scalar> item(p, out, channel);
  float sums[strip][count] = {};
  if (p.kernel_w == 3) add_rows<Scalar, count, 3>(p, item, sums);
  else if (p.kernel_w == 5) add_rows<Scalar, count, 5>(p, item, sums);
  else if (strip > 1 || p.kernel_w == 7) add_rows<Scalar, count, 7>(p, item, sums);
  else if constexpr (strip == 1) add_taps<Scalar, count>(p, item, sums);
  const long long first = (static_cast<long long>(out.n) * p.out_height + out.h) * p.out_width + out.w;
#pragma unroll
  for (int s = 0; s < strip; ++s)
    if (out.w + s < p.out_width) finish_pixel<Scalar, count>(p, sums[s], first + s, channel);
}

template <class Scalar, int count, int strip> DEVICE void depthwise_items(const ConvArguments& p) {
  const unsigned parts = static_cast<unsigned>(p.groups * p.out_channels / count);
  const int strips = (p.out_width + strip - 1) / strip;
  const unsigned items = static_cast<unsigned>(p.batch * p.out_height * strips) * parts;
  for (unsigned i = first_item(); i < items; i += item_step()) {
    Pixel out(i / parts, p.out_height, strips);
    out.w *= strip;
    depthwise_item<Scalar, count, strip>(p, out, static_cast<int>(i % parts) * count);
  }
}

template <class Scalar, int count> DEVICE bool in_pieces(const ConvArguments& p) {
  return p.out_channels == 1 && p.groups % count == 0 && aligned(p.weights, sizeof(Scalar) * count) &&
         in_chunks<count>(p.x, p.x_stride, sizeof(Scalar)) && in_chunks<count>(p.y, p.y_stride, sizeof(Scalar)) &&
         (!p.residual || in_chunks<count>(p.residual, p.residual_stride, sizeof(Scalar)));
}

/// Computes two channels at once if strides and alignment allow it, otherwise one channel at a time.
template <class Scalar, int strip> DEVICE void depthwise(const ConvArguments& p) {
  let_next_start();
  wait_for_previous();
  if (in_pieces<Scalar, 2>(p)) depthwise_items<Scalar, 2, strip>(p);
  else depthwise_items<Scalar, 1, strip>(p);
}

} // namespace

KERNEL(depthwise_f, 128, ConvArguments) { depthwise<float, 1>(arguments); }
KERNEL(depthwise_h, 128, ConvArguments) { depthwise<Half, 1>(arguments); }
// Kernels for windows of 3, 5 or 7 columns with stride 1 and dilation 1 in width.
KERNEL(depthwise_strips_f, 128, ConvArguments) { depthwise<float, 4>(arguments); }
KERNEL(depthwise_strips_h, 128, ConvArguments) { depthwise<Half, 4>(arguments); }

} // namespace rtexec::tasks::cuda
