// Convolutions whose groups have one channel of x each. Lanes of a block share the output channels of a pixel, the rest
// of its threads are other pixels; the weights of its channels come to shared memory first, tap by tap, so that lanes
// read neighbouring words.
#include "tasks/dnn/cuda/kernels/activation.cuh"
#include "tasks/dnn/cuda/kernels/depthwise.cuh"
#include "tasks/dnn/cuda/kernels/items.cuh"

namespace rtexec::tasks::cuda {
namespace {

/// The weights of a block's channels, [tap][channel] in shared memory, or where they are.
template <class Scalar, int count> struct DepthwiseWeights {
  const float* staged;
  int width;          // channels in a row of `staged`
  const Scalar* here; // of the thread's first channel; [channel][tap]
  int taps;

  DEVICE void load(float (&to)[count], int tap) const {
    if (staged) {
      constexpr int at_once = count < 4 ? count : 4;
#pragma unroll
      for (int i = 0; i < count; i += at_once) {
        Elements<float, at_once> part;
        part.load(staged + tap * width + i);
#pragma unroll
        for (int j = 0; j < at_once; ++j) to[i + j] = part.values[j];
      }
    } else {
#pragma unroll
      for (int i = 0; i < count; ++i) to[i] = to_float(here[i * taps + tap]);
    }
  }
};

/// Elements as they are stored, until they are needed.
template <class Scalar, int count> struct Kept : Chunk<Scalar> {};
template <class Scalar> struct Kept<Scalar, 1> {
  Scalar only;
  DEVICE void load(const Scalar* from) { only = *from; }
  DEVICE float value(int) const { return to_float(only); }
};

/// Sums of one row of the kernel, of `width` taps: all of what they need is on its way at once.
template <class Scalar, int count, int width>
DEVICE void add_row(const ConvArguments& p, float (&sums)[count], const Scalar* row, int left,
                    const DepthwiseWeights<Scalar, count>& weights, int first_tap) {
  Kept<Scalar, count> elements[width]{};
#pragma unroll
  for (int kw = 0; kw < width; ++kw) {
    const int w = left + kw * p.dilation_w;
    if (w >= 0 && w < p.width) elements[kw].load(row + static_cast<long long>(w) * p.x_stride);
  }
#pragma unroll
  for (int kw = 0; kw < width; ++kw) {
    const int w = left + kw * p.dilation_w;
    if (w < 0 || w >= p.width) continue;
    float factors[count];
    weights.load(factors, first_tap + kw);
#pragma unroll
    for (int i = 0; i < count; ++i) sums[i] = multiply_add(elements[kw].value(i), factors[i], sums[i]);
  }
}

/// A kernel of `width` taps in a row; 0: any.
template <class Scalar, int count, int width>
DEVICE void add_rows(const ConvArguments& p, float (&sums)[count], const Scalar* x,
                     const DepthwiseWeights<Scalar, count>& weights, const Pixel& out) {
  const int top = out.h * p.stride_h - p.pad_top, left = out.w * p.stride_w - p.pad_left;
#pragma unroll 1
  for (int kh = 0; kh < p.kernel_h; ++kh) {
    const int h = top + kh * p.dilation_h;
    if (h < 0 || h >= p.height) continue;
    const Scalar* row = x + pixel_offset(out.n, h, 0, p.height, p.width, p.x_stride);
    if constexpr (width > 0) add_row<Scalar, count, width>(p, sums, row, left, weights, kh * width);
    else
      for (int kw = 0; kw < p.kernel_w; ++kw)
        add_row<Scalar, count, 1>(p, sums, row, left + kw * p.dilation_w, weights, kh * p.kernel_w + kw);
  }
}

/// One output pixel, `count` channels from `channel` on.
template <class Scalar, int count>
DEVICE void depthwise_pixel(const ConvArguments& p, const Scalar* x, const DepthwiseWeights<Scalar, count>& weights,
                            int pixel, int channel) {
  const Pixel out(static_cast<unsigned>(pixel), p.out_height, p.out_width);
  float sums[count] = {};
  switch (p.kernel_w) {
  case 3: add_rows<Scalar, count, 3>(p, sums, x, weights, out); break;
  case 5: add_rows<Scalar, count, 5>(p, sums, x, weights, out); break;
  case 7: add_rows<Scalar, count, 7>(p, sums, x, weights, out); break;
  default: add_rows<Scalar, count, 0>(p, sums, x, weights, out);
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

/// Lane i takes channels first + i * count, first + (i + lanes) * count, ... of the block's.
template <class Scalar, int count> DEVICE void depthwise(const ConvArguments& p, const DepthwiseShape& shape) {
  const int taps = p.kernel_h * p.kernel_w, all = p.groups * p.out_channels,
            pixels = p.batch * p.out_height * p.out_width;
  const int first = block_y() * shape.channels;
  const int channels = all - first < shape.channels ? all - first : shape.channels;
  float* staged = shape.shared > 0 ? reinterpret_cast<float*>(dynamic_shared()) : nullptr;
  if (staged) {
    const Scalar* from = static_cast<const Scalar*>(p.weights) + static_cast<long long>(first) * taps;
#pragma unroll 8
    for (int i = thread_index(); i < channels * taps; i += block_threads())
      staged[i % taps * shape.channels + i / taps] = to_float(from[i]);
  }
  wait_for_previous();
  barrier();
  const int at_once = block_threads() / shape.lanes, own = thread_index() / shape.lanes;
  if (own >= at_once) return;
  for (int own_channel = thread_index() % shape.lanes * count; own_channel < channels;
       own_channel += shape.lanes * count) {
    const int channel = first + own_channel;
    const Scalar* x = static_cast<const Scalar*>(p.x) + channel / p.out_channels;
    const DepthwiseWeights<Scalar, count> weights{
        staged ? staged + own_channel : nullptr, shape.channels,
        static_cast<const Scalar*>(p.weights) + static_cast<long long>(channel) * taps, taps};
    for (int pixel = block_x() * at_once + own; pixel < pixels; pixel += blocks_x() * at_once)
      depthwise_pixel<Scalar, count>(p, x, weights, pixel, channel);
  }
}

template <class Scalar> DEVICE void depthwise(const ConvArguments& p) {
  let_next_start();
  constexpr int chunk = chunk_elements<Scalar>;
  const DepthwiseShape shape = depthwise_shape(p, chunk);
  const bool chunks = shape.count == chunk && in_chunks<chunk>(p.x, p.x_stride, sizeof(Scalar)) &&
                      in_chunks<chunk>(p.y, p.y_stride, sizeof(Scalar)) &&
                      (!p.residual || in_chunks<chunk>(p.residual, p.residual_stride, sizeof(Scalar)));
  if (chunks) depthwise<Scalar, chunk>(p, shape);
  else depthwise<Scalar, 1>(p, shape);
}

} // namespace

KERNEL(depthwise_f, depthwise_threads, ConvArguments) { depthwise<float>(arguments); }
KERNEL(depthwise_h, depthwise_threads, ConvArguments) { depthwise<Half>(arguments); }

} // namespace rtexec::tasks::cuda
