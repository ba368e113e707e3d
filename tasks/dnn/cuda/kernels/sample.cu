// Elements at positions between those of the input.
#include "tasks/dnn/cuda/kernels/functions.cuh"
#include "tasks/dnn/cuda/kernels/items.cuh"

namespace rtexec::tasks::cuda {
namespace {

template <class Scalar> DEVICE void resample(const ResampleArguments& p) {
  let_next_start();
  wait_for_previous();
  constexpr int chunk = chunk_elements<Scalar>;
  const bool whole = p.axis != p.y_view.rank - 1 && made_of_chunks<chunk>(p.y_view, static_cast<const Scalar*>(p.y)) &&
                     in_chunks<chunk>(p.x_view, static_cast<const Scalar*>(p.x));
  each_item<chunk>(element_count(p.y_view), whole, [&](auto count, unsigned item) {
    long long x = 0, y = 0;
    int position = 0;
    each_index<count>(p.y_view, item, [&](int d, int i) {
      if (d == p.axis) position = i;
      else x += i * p.x_view.stride[d];
      y += i * p.y_view.stride[d];
    });
    Elements<Scalar, count> sum{};
    for (int tap = position * p.taps; tap < (position + 1) * p.taps; ++tap) {
      const float weight = p.weights[tap];
      if (weight == 0.0F) continue; // what has none may be infinite
      Elements<Scalar, count> elements;
      elements.load(static_cast<const Scalar*>(p.x) + x + p.indices[tap] * p.x_view.stride[p.axis]);
#pragma unroll
      for (int i = 0; i < count; ++i) sum.values[i] = multiply_add(weight, elements.values[i], sum.values[i]);
    }
    sum.store(static_cast<Scalar*>(p.y) + y);
  });
}

/// A position along one dimension of `size`.
struct Axis {
  const GridSampleArguments& p;
  int size;

  DEVICE float unscaled(float x) const {
    const float n = static_cast<float>(size);
    return p.align_corners ? (x + 1.0F) / 2.0F * (n - 1.0F) : ((x + 1.0F) * n - 1.0F) / 2.0F;
  }

  /// Moved into the input, where padding moves it.
  DEVICE float moved(float x) const {
    const float last = static_cast<float>(size - 1);
    if (p.padding == GridSampleArguments::zeros) return x;
    if (p.padding == GridSampleArguments::border) return at_most(at_least(x, 0.0F), last);
    const float low = p.align_corners ? 0.0F : -0.5F, high = p.align_corners ? last : last + 0.5F;
    const float span = high - low;
    if (!(span > 0.0F)) return 0.0F;
    const float away = absolute(x - low);
    const float over = away - 2.0F * span * whole_below(away / (2.0F * span));
    return at_most(at_least(low + (over <= span ? over : 2.0F * span - over), 0.0F), last);
  }

  /// Far outside is outside.
  DEVICE static int whole(float x) { return x > -1e9F && x < 1e9F ? static_cast<int>(x) : -1000000000; }
};

template <class Scalar, int count> struct Sampler {
  const GridSampleArguments& p;
  const Scalar* x; // of the image, at the first channel
  Axis across, down;
  float sums[count] = {};

  DEVICE Sampler(const GridSampleArguments& arguments, const Scalar* image)
      : p(arguments),
        x(image),
        across{arguments, arguments.x_view.shape[2]},
        down{arguments, arguments.x_view.shape[1]} {}

  DEVICE void add(int row, int column, float weight) {
    if (row < 0 || row >= down.size || column < 0 || column >= across.size) return;
    Elements<Scalar, count> elements;
    elements.load(x + row * p.x_view.stride[1] + column * p.x_view.stride[2]);
#pragma unroll
    for (int i = 0; i < count; ++i) sums[i] = multiply_add(weight, elements.values[i], sums[i]);
  }

  DEVICE void nearest(float row, float column) {
    add(Axis::whole(nearest_whole(down.moved(row))), Axis::whole(nearest_whole(across.moved(column))), 1.0F);
  }

  DEVICE void linear(float row, float column) {
    row = down.moved(row);
    column = across.moved(column);
    const float top = whole_below(row), left = whole_below(column), below = row - top, right = column - left;
    const int h = Axis::whole(top), w = Axis::whole(left);
    add(h, w, (1.0F - below) * (1.0F - right));
    add(h, w + 1, (1.0F - below) * right);
    add(h + 1, w, below * (1.0F - right));
    add(h + 1, w + 1, below * right);
  }

  /// Keys' kernel with a = -0.75.
  DEVICE static float weight(float distance) {
    constexpr float a = -0.75F;
    const float d = absolute(distance);
    return d <= 1.0F ? ((a + 2.0F) * d - (a + 3.0F)) * d * d + 1.0F : ((d - 5.0F) * d + 8.0F) * d * a - 4.0F * a;
  }

  DEVICE void cubic(float row, float column) {
    const float top = whole_below(row), left = whole_below(column);
    for (int i = -1; i < 3; ++i)
      for (int j = -1; j < 3; ++j) {
        const float h = top + static_cast<float>(i), w = left + static_cast<float>(j);
        add(Axis::whole(down.moved(h)), Axis::whole(across.moved(w)), weight(row - h) * weight(column - w));
      }
  }
};

template <class Scalar> DEVICE void grid_sample(const GridSampleArguments& p) {
  let_next_start();
  wait_for_previous();
  constexpr int chunk = chunk_elements<Scalar>;
  const auto* x = static_cast<const Scalar*>(p.x);
  auto* y = static_cast<Scalar*>(p.y);
  const bool whole = made_of_chunks<chunk>(p.y_view, y) && in_chunks<chunk>(p.x_view, x);
  each_item<chunk>(element_count(p.y_view), whole, [&](auto count, unsigned item) {
    long long from = 0, at = 0, to = 0;
    each_index<count>(p.y_view, item, [&](int d, int i) {
      if (d == 0 || d == 3) from += i * p.x_view.stride[d];
      if (d < 3) at += i * p.grid_strides[d];
      to += i * p.y_view.stride[d];
    });
    const Scalar* grid = static_cast<const Scalar*>(p.grid) + at;
    Sampler<Scalar, count> sampler(p, x + from);
    const float column = sampler.across.unscaled(to_float(grid[0])),
                row = sampler.down.unscaled(to_float(grid[p.grid_strides[3]]));
    if (p.mode == GridSampleArguments::nearest) sampler.nearest(row, column);
    else if (p.mode == GridSampleArguments::linear) sampler.linear(row, column);
    else sampler.cubic(row, column);
    Elements<Scalar, count> result;
#pragma unroll
    for (int i = 0; i < count; ++i) result.values[i] = sampler.sums[i];
    result.store(y + to);
  });
}

} // namespace

KERNEL(resample_f, 128, ResampleArguments) { resample<float>(arguments); }
KERNEL(resample_h, 128, ResampleArguments) { resample<Half>(arguments); }
KERNEL(grid_sample_f, 128, GridSampleArguments) { grid_sample<float>(arguments); }
KERNEL(grid_sample_h, 128, GridSampleArguments) { grid_sample<Half>(arguments); }

} // namespace rtexec::tasks::cuda
