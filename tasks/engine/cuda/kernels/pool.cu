// Pooling over windows (maximum, average), the average over all pixels, and interpolation.
#include "tasks/engine/cuda/kernels/items.cuh"
#include "tasks/engine/cuda/kernels/activation.cuh"

namespace rtexec::tasks::cuda {
namespace {

/// The part of a window along one axis that is inside the input. It consists of the elements start + tap * dilation for
/// first <= tap < last.
struct Span {
  int start, first, last;
  int counted; // number of taps that an average divides by

  DEVICE Span(int out, int stride, int pad, int kernel, int dilation, int size, int pad_after, bool count_padding) {
    start = out * stride - pad;
    first = start >= 0 ? 0 : (-start + dilation - 1) / dilation;
    last = taps_before(size, kernel, dilation);
    if (first > last) first = last;
    counted = count_padding ? taps_before(size + pad_after, kernel, dilation) : last - first;
  }
  DEVICE int taps_before(int end, int kernel, int dilation) const {
    const int taps = end <= start ? 0 : (end - start + dilation - 1) / dilation;
    return taps < kernel ? taps : kernel;
  }
};

template <class Scalar> DEVICE void pool(const PoolArguments& p) {
  let_next_start();
  wait_for_previous();
  each_channel<Scalar>(p, pixels_out(p), [&](auto count, unsigned pixel, int channel) {
    const Pixel out(pixel, p.out_height, p.out_width);
    const Span rows(out.h, p.stride_h, p.pad_top, p.kernel_h, p.dilation_h, p.height, p.pad_bottom,
                    p.count_padding != 0);
    const Span columns(out.w, p.stride_w, p.pad_left, p.kernel_w, p.dilation_w, p.width, p.pad_right,
                       p.count_padding != 0);
    const Scalar* image =
        static_cast<const Scalar*>(p.x) + pixel_offset(out.n, 0, 0, p.height, p.width, p.x_stride) + channel;

    Elements<Scalar, count> result;
#pragma unroll
    for (int i = 0; i < count; ++i) result.values[i] = p.average ? 0.0F : -infinity;
    for (int r = rows.first; r < rows.last; ++r) {
      const Scalar* row = image + pixel_offset(0, rows.start + r * p.dilation_h, 0, p.height, p.width, p.x_stride);
      for (int c = columns.first; c < columns.last; ++c) {
        Elements<Scalar, count> x;
        x.load(row + static_cast<long long>(columns.start + c * p.dilation_w) * p.x_stride);
        const bool begins = r == rows.first && c == columns.first;
#pragma unroll
        for (int i = 0; i < count; ++i) {
          if (p.average) result.values[i] += x.values[i];
          else result.values[i] = begins || result.values[i] < x.values[i] ? x.values[i] : result.values[i];
        }
      }
    }
    if (p.average) {
      const float counted = static_cast<float>(rows.counted * columns.counted);
#pragma unroll
      for (int i = 0; i < count; ++i) result.values[i] = result.values[i] / counted;
    }
    result.store(static_cast<Scalar*>(p.y) + static_cast<long long>(pixel) * p.y_stride + channel);
  });
}

/// Averages each channel over all pixels. A block computes 32 channels, one on each lane. Its warps divide the pixels
/// of the block's split among them.
template <class Scalar> DEVICE void global_average(const GlobalAverageArguments& p) {
  constexpr int max_warps = 16;
  using Sums = float[max_warps][32];
  auto& sums = shared_memory<Sums>();
  auto& last_block = shared_memory<bool>();
  let_next_start();
  wait_for_previous();
  const int lane = thread_index() % 32, warp = thread_index() / 32, warps = block_threads() / 32;
  const int channel = block_x() * 32 + lane, split = block_y(), n = block_z();
  const int begin = static_cast<int>(static_cast<long long>(p.pixels) * split / p.splits);
  const int end = static_cast<int>(static_cast<long long>(p.pixels) * (split + 1) / p.splits);

  float sum = 0;
  if (channel < p.channels) {
    const Scalar* x = static_cast<const Scalar*>(p.x) + static_cast<long long>(n) * p.pixels * p.x_stride + channel;
    constexpr int at_once = 8; // number of loads in flight
    for (int pixel = begin + warp; pixel < end; pixel += at_once * warps) {
      float values[at_once];
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
        const int own = pixel + i * warps;
        values[i] = own < end ? to_float(x[static_cast<long long>(own) * p.x_stride]) : 0.0F;
      }
#pragma unroll
      for (int i = 0; i < at_once; ++i) sum += values[i];
    }
  }
  sums[warp][lane] = sum;
  barrier();
  if (warp == 0)
    for (int other = 1; other < warps; ++other) sum += sums[other][lane];

  if (p.splits > 1) {
    float* partial = p.partial + static_cast<long long>(n) * p.splits * p.channels + channel;
    unsigned* counter = p.counters + n * blocks_x() + block_x();
    if (warp == 0 && channel < p.channels) partial[static_cast<long long>(split) * p.channels] = sum;
    publish();
    barrier();
    if (thread_index() == 0) {
      last_block = count_up(counter) == static_cast<unsigned>(p.splits - 1);
      if (last_block) *counter = 0;
    }
    barrier();
    if (!last_block) return;
    publish();
    sum = 0;
    if (warp == 0 && channel < p.channels)
      for (int other = 0; other < p.splits; ++other)
        sum += load_fresh(partial + static_cast<long long>(other) * p.channels);
  }
  if (warp == 0 && channel < p.channels)
    static_cast<Scalar*>(p.y)[static_cast<long long>(n) * p.y_stride + channel] =
        from_float<Scalar>(sum / static_cast<float>(p.pixels));
}

/// Returns low * (1 - weight) + high * weight. If `weight` is 0, the result is exactly `low`, even if `high` is
/// infinite.
DEVICE float blended_rows(float low, float high, float weight) {
  return weight == 0.0F ? low : low * (1.0F - weight) + high * weight;
}
DEVICE float blended_columns(float low, float high, float weight) {
  return weight == 0.0F ? low : low + (high - low) * weight;
}

template <class Scalar> DEVICE void resize(const ResizeArguments& p) {
  let_next_start();
  wait_for_previous();
  each_channel<Scalar>(p, pixels_out(p), [&](auto count, unsigned pixel, int channel) {
    const Pixel out(pixel, p.out_height, p.out_width);
    const ResizeTap row = p.rows[out.h], column = p.columns[out.w];
    const Scalar* x = static_cast<const Scalar*>(p.x) + channel;
    const Scalar* low = x + pixel_offset(out.n, row.low, 0, p.height, p.width, p.x_stride);
    const Scalar* high = x + pixel_offset(out.n, row.high, 0, p.height, p.width, p.x_stride);
    const long long left = static_cast<long long>(column.low) * p.x_stride,
                    right = static_cast<long long>(column.high) * p.x_stride;
    Elements<Scalar, count> result, other;
    result.load(low + left);
    if (row.weight != 0.0F) {
      other.load(high + left);
#pragma unroll
      for (int i = 0; i < count; ++i) result.values[i] = blended_rows(result.values[i], other.values[i], row.weight);
    }
    if (column.weight != 0.0F) {
      Elements<Scalar, count> after;
      after.load(low + right);
      if (row.weight != 0.0F) other.load(high + right);
#pragma unroll
      for (int i = 0; i < count; ++i) {
        const float value =
            row.weight == 0.0F ? after.values[i] : blended_rows(after.values[i], other.values[i], row.weight);
        result.values[i] = blended_columns(result.values[i], value, column.weight);
      }
    }
    result.store(static_cast<Scalar*>(p.y) + static_cast<long long>(pixel) * p.y_stride + channel);
  });
}

} // namespace

KERNEL(pool_f, 128, PoolArguments) { pool<float>(arguments); }
KERNEL(pool_h, 128, PoolArguments) { pool<Half>(arguments); }
KERNEL(global_average_f, 512, GlobalAverageArguments) { global_average<float>(arguments); }
KERNEL(global_average_h, 512, GlobalAverageArguments) { global_average<Half>(arguments); }
KERNEL(resize_f, 128, ResizeArguments) { resize<float>(arguments); }
KERNEL(resize_h, 128, ResizeArguments) { resize<Half>(arguments); }

} // namespace rtexec::tasks::cuda
