// Kernels for int8 tensors: element-wise conversion between them and floats, and convolutions that no tuned kernel
// supports.
#include "tasks/engine/cuda/kernels/int8_output.cuh"
#include "tasks/engine/cuda/kernels/items.cuh"

namespace rtexec::tasks::cuda {
namespace {

template <class From, class To, int count> DEVICE void rescale(const RescaleArguments& p) {
  const unsigned items = element_count(p.y_view) / count;
  const bool a_repeated = last_stride(p.a_view) == 0, b_repeated = last_stride(p.b_view) == 0;
  for (unsigned item = first_item(); item < items; item += item_step()) {
    long long a_at = 0, b_at = 0, y_at = 0;
    each_index<count>(p.y_view, item, [&](int d, int i) {
      a_at += i * p.a_view.stride[d];
      b_at += i * p.b_view.stride[d];
      y_at += i * p.y_view.stride[d];
    });
    Elements<From, count> a, b{};
    load(a, static_cast<const From*>(p.a) + a_at, a_repeated);
    if (p.b) load(b, static_cast<const From*>(p.b) + b_at, b_repeated);
    Elements<To, count> y;
#pragma unroll
    for (int i = 0; i < count; ++i) {
      float value = (a.values[i] - p.a_zero) * p.a_scale;
      if (p.b) value += (b.values[i] - p.b_zero) * p.b_scale;
      y.values[i] = value;
    }
    activate(y.values, p.activation);
    if (p.to_levels)
#pragma unroll
      for (int i = 0; i < count; ++i) y.values[i] = to_level(y.values[i], p.levels);
    y.store(static_cast<To*>(p.y) + y_at);
  }
}

template <class From, class To> DEVICE void rescale(const RescaleArguments& p) {
  let_next_start();
  wait_for_previous();
  constexpr int chunk = chunk_elements<From> < chunk_elements<To> ? chunk_elements<From> : chunk_elements<To>;
  if (last_extent(p.y_view) % chunk == 0 && in_chunks<chunk>(p.y_view, static_cast<const To*>(p.y)) &&
      in_chunks_or_repeated<chunk>(p.a_view, static_cast<const From*>(p.a)) &&
      (!p.b || in_chunks_or_repeated<chunk>(p.b_view, static_cast<const From*>(p.b))))
    rescale<From, To, chunk>(p);
  else rescale<From, To, 1>(p);
}

/// Returns the sum of the products of one tap over the channels of one group. `x` and `weights` point to the first of
/// these channels.
DEVICE int sum_of_tap(const Byte* x, const Byte* weights, int channels, bool in_words) {
  int sum = 0;
  if (in_words)
    for (int c = 0; c < channels; c += 4)
      sum = add_products(reinterpret_cast<const Words<1>*>(x + c)->word[0],
                         reinterpret_cast<const Words<1>*>(weights + c)->word[0], sum);
  else
    for (int c = 0; c < channels; ++c) sum += x[c].value * weights[c].value;
  return sum;
}
DEVICE int sum_outside(unsigned outside, const Byte* weights, int channels) {
  int sum = 0;
  for (int c = 0; c < channels; ++c) sum += byte_of(outside, 0) * weights[c].value;
  return sum;
}

/// Computes an int8 convolution. Each thread computes one output; neighbouring threads compute neighbouring channels of
/// a pixel.
DEVICE void convolve_bytes(const ConvArguments& p) {
  let_next_start();
  wait_for_previous();
  const int all = p.groups * p.out_channels;
  const unsigned items = static_cast<unsigned>(p.batch * p.out_height * p.out_width) * static_cast<unsigned>(all);
  const bool in_words = p.channels % 4 == 0 && p.x_stride % 4 == 0 && aligned(p.x, 4) && aligned(p.weights, 4);
  for (unsigned item = first_item(); item < items; item += item_step()) {
    const unsigned number = item / static_cast<unsigned>(all);
    const int channel = static_cast<int>(item - number * static_cast<unsigned>(all));
    const Pixel out(number, p.out_height, p.out_width);
    const Byte* x = static_cast<const Byte*>(p.x) + channel / p.out_channels * p.channels;
    const Byte* weights =
        static_cast<const Byte*>(p.weights) + static_cast<long long>(channel) * p.kernel_h * p.kernel_w * p.channels;
    int sum = 0;
    for (int kh = 0; kh < p.kernel_h; ++kh)
      for (int kw = 0; kw < p.kernel_w; ++kw, weights += p.channels) {
        const int h = out.h * p.stride_h - p.pad_top + kh * p.dilation_h,
                  w = out.w * p.stride_w - p.pad_left + kw * p.dilation_w;
        const bool inside = h >= 0 && h < p.height && w >= 0 && w < p.width;
        sum += inside ? sum_of_tap(x + pixel_offset(out.n, h, w, p.height, p.width, p.x_stride), weights, p.channels,
                                   in_words)
                      : sum_outside(outside_of(p), weights, p.channels);
      }
    const auto at = [&](int stride) { return static_cast<long long>(number) * stride + channel; };
    const float residual = p.residual ? load_stored(p.residual, at(p.residual_stride), p.residual_storage) : 0.0F;
    store_stored(p.y, at(p.y_stride), p.y_storage, Int8Channel(p, channel).finished(p, sum, residual));
  }
}

} // namespace

KERNEL(rescale_ff, 128, RescaleArguments) { rescale<float, float>(arguments); }
KERNEL(rescale_fh, 128, RescaleArguments) { rescale<float, Half>(arguments); }
KERNEL(rescale_fb, 128, RescaleArguments) { rescale<float, Byte>(arguments); }
KERNEL(rescale_hf, 128, RescaleArguments) { rescale<Half, float>(arguments); }
KERNEL(rescale_hh, 128, RescaleArguments) { rescale<Half, Half>(arguments); }
KERNEL(rescale_hb, 128, RescaleArguments) { rescale<Half, Byte>(arguments); }
KERNEL(rescale_bf, 128, RescaleArguments) { rescale<Byte, float>(arguments); }
KERNEL(rescale_bh, 128, RescaleArguments) { rescale<Byte, Half>(arguments); }
KERNEL(rescale_bb, 128, RescaleArguments) { rescale<Byte, Byte>(arguments); }
KERNEL(conv_bytes, 128, ConvArguments) { convolve_bytes(arguments); }

} // namespace rtexec::tasks::cuda
