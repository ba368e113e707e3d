// Interpolation of the input at positions between its elements.
#include "tasks/engine/cuda/kernels/functions.cuh"
#include "tasks/engine/cuda/kernels/items.cuh"

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
      if (weight == 0.0F) continue; // skips the element, which may be infinite
      Elements<Scalar, count> elements;
      elements.load(static_cast<const Scalar*>(p.x) + x + p.indices[tap] * p.x_view.stride[p.axis]);
#pragma unroll
      for (int i = 0; i < count; ++i) sum.values[i] = multiply_add(weight, elements.values[i], sum.values[i]);
    }
    sum.store(static_cast<Scalar*>(p.y) + y);
  });
}

/// Converts normalised positions along one dimension to positions in elements (indices with a fraction). `size` is the
/// number of elements in that dimension.
struct Axis {
  const Sampling& sampling;
  int size;

  DEVICE float unscaled(float x) const {
    const float n = static_cast<float>(size);
    return sampling.align_corners ? (x + 1.0F) / 2.0F * (n - 1.0F) : ((x + 1.0F) * n - 1.0F) / 2.0F;
  }

  /// Returns the position after padding: the padding mode may move a position outside of the input to a position
  /// inside.
  DEVICE float moved(float x) const {
    const float last = static_cast<float>(size - 1);
    if (sampling.padding == Sampling::zeros) return x;
    if (sampling.padding == Sampling::border) return at_most(at_least(x, 0.0F), last);
    const float low = sampling.align_corners ? 0.0F : -0.5F, high = sampling.align_corners ? last : last + 0.5F;
    const float span = high - low;
    if (!(span > 0.0F)) return 0.0F;
    const float away = absolute(x - low);
    const float over = away - 2.0F * span * floor_of(away / (2.0F * span));
    return at_most(at_least(low + (over <= span ? over : 2.0F * span - over), 0.0F), last);
  }

  /// Converts x to int. A position far outside of the input stays outside.
  DEVICE static int whole(float x) { return x > -1e9F && x < 1e9F ? static_cast<int>(x) : -1000000000; }
};

/// The sum of samples of an image at several positions, for `count` channels.
template <class Scalar, int count> struct Sampler {
  const Scalar* x; // address of the first of the `count` channels
  Axis down, across;
  long long row_stride, column_stride;
  float sums[count] = {};

  /// Adds the sample at a position, multiplied by `weight`. grid[0] is the horizontal and grid[step] the vertical
  /// coordinate of the position.
  DEVICE void sample(const Scalar* grid, long long step, float weight) {
    const float column = across.unscaled(to_float(grid[0])), row = down.unscaled(to_float(grid[step]));
    if (down.sampling.mode == Sampling::nearest) nearest(row, column, weight);
    else if (down.sampling.mode == Sampling::linear) linear(row, column, weight);
    else cubic(row, column, weight);
  }

  DEVICE void store(Scalar* y) const {
    Elements<Scalar, count> result;
#pragma unroll
    for (int i = 0; i < count; ++i) result.values[i] = sums[i];
    result.store(y);
  }

 private:
  DEVICE void add(int row, int column, float weight) {
    if (row < 0 || row >= down.size || column < 0 || column >= across.size) return;
    Elements<Scalar, count> elements;
    elements.load(x + row * row_stride + column * column_stride);
#pragma unroll
    for (int i = 0; i < count; ++i) sums[i] = multiply_add(weight, elements.values[i], sums[i]);
  }

  DEVICE void nearest(float row, float column, float weight) {
    add(Axis::whole(nearest_integer(down.moved(row))), Axis::whole(nearest_integer(across.moved(column))), weight);
  }

  DEVICE void linear(float row, float column, float weight) {
    row = down.moved(row);
    column = across.moved(column);
    const float top = floor_of(row), left = floor_of(column), below = row - top, right = column - left;
    const int h = Axis::whole(top), w = Axis::whole(left);
    add(h, w, weight * ((1.0F - below) * (1.0F - right)));
    add(h, w + 1, weight * ((1.0F - below) * right));
    add(h + 1, w, weight * (below * (1.0F - right)));
    add(h + 1, w + 1, weight * (below * right));
  }

  /// Returns a weight of cubic interpolation: Keys' kernel with a = -0.75.
  DEVICE static float cubic_weight(float distance) {
    constexpr float a = -0.75F;
    const float d = absolute(distance);
    return d <= 1.0F ? ((a + 2.0F) * d - (a + 3.0F)) * d * d + 1.0F : ((d - 5.0F) * d + 8.0F) * d * a - 4.0F * a;
  }

  DEVICE void cubic(float row, float column, float weight) {
    const float top = floor_of(row), left = floor_of(column);
    for (int i = -1; i < 3; ++i)
      for (int j = -1; j < 3; ++j) {
        const float h = top + static_cast<float>(i), w = left + static_cast<float>(j);
        add(Axis::whole(down.moved(h)), Axis::whole(across.moved(w)),
            weight * (cubic_weight(row - h) * cubic_weight(column - w)));
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
    Sampler<Scalar, count> sampler{x + from,
                                   {p.sampling, p.x_view.shape[1]},
                                   {p.sampling, p.x_view.shape[2]},
                                   p.x_view.stride[1],
                                   p.x_view.stride[2]};
    sampler.sample(static_cast<const Scalar*>(p.grid) + at, p.grid_strides[3], 1.0F);
    sampler.store(y + to);
  });
}

// ---- deformable attention

/// Returns the sum of `value` over the `sampling_lanes` neighbouring threads that share an item.
DEVICE float sum_of_lanes(float value) {
  for (int mask = sampling_lanes / 2; mask > 0; mask /= 2) value += exchange(value, mask);
  return value;
}

/// The softmax of the scores of one query. `sampling_lanes` threads compute it together.
template <class Scalar> struct Shares {
  const Scalar* scores;
  long long stride;
  float most = -infinity, total = 0.0F;

  DEVICE Shares(const Scalar* first, long long step, int count, int lane) : scores(first), stride(step) {
    for (int i = lane; i < count; i += sampling_lanes) most = at_least(most, score(i));
    for (int mask = sampling_lanes / 2; mask > 0; mask /= 2) most = at_least(most, exchange(most, mask));
    for (int i = lane; i < count; i += sampling_lanes) total += exponential(score(i) - most);
    total = sum_of_lanes(total);
  }
  DEVICE float score(int i) const { return to_float(scores[i * stride]); }
  DEVICE float of(int i) const { return exponential(score(i) - most) / total; }
};

template <class Scalar, int count>
DEVICE void attend(const DeformableArguments& p, unsigned item, int lane, bool stores) {
  const unsigned chunks = static_cast<unsigned>(p.channels / count), at = item / chunks;
  const int channel = static_cast<int>(item - at * chunks) * count, n = static_cast<int>(at) / p.queries,
            query = static_cast<int>(at) - n * p.queries;
  const Shares<Scalar> shares(
      static_cast<const Scalar*>(p.scores) + n * p.scores_strides[0] + query * p.scores_strides[1], p.scores_strides[2],
      p.images * p.points, lane);
  float sums[count] = {};
  for (int i = lane; i < p.images * p.points; i += sampling_lanes) {
    const int number = i / p.points, point = i - number * p.points;
    const DeformableArguments::Image& image = p.image[number];
    const Scalar* x = static_cast<const Scalar*>(p.x[number]) + n * image.strides[0] + channel;
    const Scalar* grid = static_cast<const Scalar*>(p.grid[number]) + n * image.grid_strides[0] +
                         query * image.grid_strides[1] + point * image.grid_strides[2];
    Sampler<Scalar, count> sampler{
        x, {p.sampling, image.height}, {p.sampling, image.width}, image.strides[1], image.strides[2]};
    sampler.sample(grid, image.grid_strides[3], shares.of(i));
#pragma unroll
    for (int c = 0; c < count; ++c) sums[c] += sampler.sums[c];
  }
  Elements<Scalar, count> result;
#pragma unroll
  for (int c = 0; c < count; ++c) result.values[c] = sum_of_lanes(sums[c]);
  if (stores) result.store(static_cast<Scalar*>(p.y) + n * p.y_strides[0] + query * p.y_strides[1] + channel);
}

template <int chunk, class Scalar> DEVICE bool in_chunks(const DeformableArguments& p) {
  const auto whole = [](const void* pointer, const auto& strides, int rank) {
    for (int d = 0; d < rank; ++d)
      if (strides[d] % chunk != 0) return false;
    return aligned(pointer, chunk * sizeof(Scalar));
  };
  for (int i = 0; i < p.images; ++i)
    if (!whole(p.x[i], p.image[i].strides, 3)) return false;
  return p.channels % chunk == 0 && whole(p.y, p.y_strides, 2);
}

/// Computes all items. Every thread must take part in the exchange of sums. So threads beyond the last item compute the
/// last item again, without storing it.
template <class Scalar, int count> DEVICE void attend(const DeformableArguments& p) {
  const unsigned items = static_cast<unsigned>(p.batch * p.queries) * static_cast<unsigned>(p.channels / count);
  const auto thread = static_cast<unsigned>(thread_index()), lane = thread % sampling_lanes;
  for (unsigned first = first_item() - thread; first < items * sampling_lanes; first += item_step()) {
    const unsigned item = (first + thread) / sampling_lanes;
    attend<Scalar, count>(p, item < items ? item : items - 1, static_cast<int>(lane), lane == 0 && item < items);
  }
}

template <class Scalar> DEVICE void deformable(const DeformableArguments& p) {
  let_next_start();
  wait_for_previous();
  constexpr int chunk = chunk_elements<Scalar>;
  if (in_chunks<chunk, Scalar>(p)) attend<Scalar, chunk>(p);
  else attend<Scalar, 1>(p);
}

} // namespace

KERNEL(resample_f, 128, ResampleArguments) { resample<float>(arguments); }
KERNEL(resample_h, 128, ResampleArguments) { resample<Half>(arguments); }
KERNEL(grid_sample_f, 128, GridSampleArguments) { grid_sample<float>(arguments); }
KERNEL(grid_sample_h, 128, GridSampleArguments) { grid_sample<Half>(arguments); }
KERNEL(deformable_f, 128, DeformableArguments) { deformable<float>(arguments); }
KERNEL(deformable_h, 128, DeformableArguments) { deformable<Half>(arguments); }

} // namespace rtexec::tasks::cuda
