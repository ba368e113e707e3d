// Convolutions whose groups have one channel of x each. A thread computes some neighbouring channels of one pixel of y;
// weights lie tap by tap, [kernel_h][kernel_w][channels of y], so that threads beside each other read what lies beside
// each other. What one row of the kernel needs is on its way while the row before is added up.
#include "tasks/dnn/cuda/kernels/activation.cuh"
#include "tasks/dnn/cuda/kernels/items.cuh"

namespace rtexec::tasks::cuda {
namespace {

/// What a thread has to do: `count` channels from `channel` on, of the pixel at `out`.
template <class Scalar> struct DepthwiseItem {
  const Scalar *x, *weights; // of its first channel
  int all;                   // channels of y
  int n, top, left;          // of the window

  DEVICE DepthwiseItem(const ConvArguments& p, const Pixel& out, int channel)
      : x(static_cast<const Scalar*>(p.x) + channel / p.out_channels),
        weights(static_cast<const Scalar*>(p.weights) + channel),
        all(p.groups * p.out_channels),
        n(out.n),
        top(out.h * p.stride_h - p.pad_top),
        left(out.w * p.stride_w - p.pad_left) {}
};

/// `width` taps of one row of the kernel, as they are stored.
template <class Scalar, int count, int width> struct DepthwiseTaps {
  Stored<Scalar, count> x[width], weights[width];

  /// Zeros where the row is not of the kernel, and for what lies outside of x.
  DEVICE void load(const ConvArguments& p, const DepthwiseItem<Scalar>& item, int kh, int first_kw) {
    const int h = item.top + kh * p.dilation_h;
    const bool inside = kh < p.kernel_h && h >= 0 && h < p.height;
    const Scalar* row = item.x + pixel_offset(item.n, h, 0, p.height, p.width, p.x_stride);
#pragma unroll
    for (int kw = 0; kw < width; ++kw) {
      const int w = item.left + (first_kw + kw) * p.dilation_w;
      x[kw] = {};
      weights[kw] = {};
      if (!inside || w < 0 || w >= p.width) continue;
      x[kw].load(row + static_cast<long long>(w) * p.x_stride);
      weights[kw].load(item.weights + static_cast<long long>(kh * p.kernel_w + first_kw + kw) * item.all);
    }
  }
  DEVICE void add_to(float (&sums)[count]) const {
#pragma unroll
    for (int kw = 0; kw < width; ++kw)
#pragma unroll
      for (int i = 0; i < count; ++i) sums[i] = multiply_add(x[kw].value(i), weights[kw].value(i), sums[i]);
  }
};

/// A kernel of `width` taps in a row.
template <class Scalar, int count, int width>
DEVICE void add_rows(const ConvArguments& p, const DepthwiseItem<Scalar>& item, float (&sums)[count]) {
  constexpr bool ahead = sizeof(Scalar) * count * width <= 80; // beyond, registers of two rows leave few threads
  DepthwiseTaps<Scalar, count, width> taps;
  if (ahead) taps.load(p, item, 0, 0);
#pragma unroll 1
  for (int kh = 0; kh < p.kernel_h; ++kh) {
    if (!ahead) taps.load(p, item, kh, 0);
    const auto own = taps;
    if (ahead) taps.load(p, item, kh + 1, 0);
    own.add_to(sums);
  }
}
/// Any kernel.
template <class Scalar, int count>
DEVICE void add_taps(const ConvArguments& p, const DepthwiseItem<Scalar>& item, float (&sums)[count]) {
  DepthwiseTaps<Scalar, count, 1> tap;
#pragma unroll 1
  for (int kh = 0; kh < p.kernel_h; ++kh)
#pragma unroll 4
    for (int kw = 0; kw < p.kernel_w; ++kw) {
      tap.load(p, item, kh, kw);
      tap.add_to(sums);
    }
}

template <class Scalar, int count> DEVICE void depthwise_item(const ConvArguments& p, unsigned pixel, int channel) {
  const DepthwiseItem<Scalar> item(p, Pixel(pixel, p.out_height, p.out_width), channel);
  float sums[count] = {};
  switch (p.kernel_w) {
  case 3: add_rows<Scalar, count, 3>(p, item, sums); break;
  case 5: add_rows<Scalar, count, 5>(p, item, sums); break;
  case 7: add_rows<Scalar, count, 7>(p, item, sums); break;
  default: add_taps<Scalar, count>(p, item, sums);
  }
  Elements<Scalar, count> result;
  if (p.bias)
#pragma unroll
    for (int i = 0; i < count; ++i) sums[i] += p.bias[channel + i];
  if (p.residual) {
    result.load(static_cast<const Scalar*>(p.residual) + static_cast<long long>(pixel) * p.residual_stride + channel);
#pragma unroll
    for (int i = 0; i < count; ++i) sums[i] += result.values[i];
  }
#pragma unroll
  for (int i = 0; i < count; ++i) result.values[i] = activated_quickly(sums[i], p.activation);
  result.store(static_cast<Scalar*>(p.y) + static_cast<long long>(pixel) * p.y_stride + channel);
}

template <class Scalar, int count> DEVICE void depthwise_items(const ConvArguments& p) {
  const unsigned parts = static_cast<unsigned>(p.groups * p.out_channels / count);
  const unsigned items = static_cast<unsigned>(p.batch * p.out_height * p.out_width) * parts;
  for (unsigned i = first_item(); i < items; i += item_step())
    depthwise_item<Scalar, count>(p, i / parts, static_cast<int>(i % parts) * count);
}

template <class Scalar, int count> DEVICE bool in_pieces(const ConvArguments& p) {
  return in_chunks<count>(p.x, p.x_stride, sizeof(Scalar)) && in_chunks<count>(p.y, p.y_stride, sizeof(Scalar)) &&
         (!p.residual || in_chunks<count>(p.residual, p.residual_stride, sizeof(Scalar)));
}

/// `count` channels at once where they lie so, else one.
template <class Scalar, int count> DEVICE void depthwise(const ConvArguments& p) {
  let_next_start();
  wait_for_previous();
  const bool whole = p.out_channels == 1 && p.groups % count == 0 && aligned(p.weights, sizeof(Scalar) * count);
  if (whole && in_pieces<Scalar, count>(p)) depthwise_items<Scalar, count>(p);
  else depthwise_items<Scalar, 1>(p);
}

} // namespace

KERNEL(depthwise_f, 128, ConvArguments) { depthwise<float, 4>(arguments); }
KERNEL(depthwise_h, 128, ConvArguments) { depthwise<Half, 8>(arguments); }
KERNEL(depthwise_pairs_f, 128, ConvArguments) { depthwise<float, 2>(arguments); }
KERNEL(depthwise_pairs_h, 128, ConvArguments) { depthwise<Half, 2>(arguments); }

} // namespace rtexec::tasks::cuda
