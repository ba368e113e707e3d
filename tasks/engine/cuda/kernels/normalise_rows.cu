// Layer and RMS normalisation of rows that consist of whole 16-byte chunks. Some lanes of a warp share a row, and keep
// its elements in registers. All loads of a lane are in flight at once.
#include "tasks/engine/cuda/kernels/activation.cuh"
#include "tasks/engine/cuda/kernels/half.cuh"

namespace rtexec::tasks::cuda {
namespace {

template <class Scalar> struct NormalisedRow {
  static constexpr int chunk = chunk_elements<Scalar>;
  using Part = Chunk<Scalar>;

  const LayerNormRowsArguments& p;
  int lanes, lane, row;
  Part x[normalise_chunks], scale[normalise_chunks], shift[normalise_chunks];

  DEVICE explicit NormalisedRow(const LayerNormRowsArguments& arguments) : p(arguments) {
    lanes = 1 << p.lane_bits;
    lane = thread_index() & (lanes - 1);
    row = (block_x() * block_threads() + thread_index()) >> p.lane_bits;
  }

  /// Calls f(j, chunk) for each of this lane's chunks.
  template <class F> DEVICE void each(F f) const {
#pragma unroll
    for (int j = 0; j < normalise_chunks; ++j) {
      if (j * lanes >= p.chunks) return;
      if (row < p.rows && lane + j * lanes < p.chunks) f(j, lane + j * lanes);
    }
  }

  DEVICE static const Scalar* at(const void* tensor, long long row_stride, int row, int part) {
    return static_cast<const Scalar*>(tensor) + row * row_stride + part * chunk;
  }
  DEVICE void load() {
    each([&](int j, int part) { x[j].load(at(p.x, p.x_stride, row, part)); });
    if (p.scale) each([&](int j, int part) { scale[j].load(at(p.scale, 0, 0, part)); });
    if (p.shift) each([&](int j, int part) { shift[j].load(at(p.shift, 0, 0, part)); });
  }

  /// Returns the mean of f(x) over all elements x of the row.
  template <class F> DEVICE float mean(F f) const {
    float sum = 0;
    each([&](int j, int) {
#pragma unroll
      for (int i = 0; i < chunk; ++i) sum += f(x[j].value(i));
    });
    for (int mask = lanes / 2; mask > 0; mask /= 2) sum += exchange(sum, mask);
    return sum / static_cast<float>(p.chunks * chunk);
  }

  DEVICE void store(float mean, float factor) const {
    each([&](int j, int part) {
      Elements<Scalar, chunk> y;
#pragma unroll
      for (int i = 0; i < chunk; ++i) {
        y.values[i] = (x[j].value(i) - mean) * factor;
        if (p.scale) y.values[i] *= scale[j].value(i);
        if (p.shift) y.values[i] += shift[j].value(i);
      }
      if (p.residual) {
        Part residual;
        residual.load(at(p.residual, p.residual_stride, row, part));
#pragma unroll
        for (int i = 0; i < chunk; ++i) y.values[i] += residual.value(i);
      }
      activate_elsewhere(y.values, p.activation);
      y.store(static_cast<Scalar*>(p.y) + row * p.y_stride + part * chunk);
    });
  }
};

template <class Scalar> DEVICE void normalise_whole_rows(const LayerNormRowsArguments& p) {
  let_next_start();
  NormalisedRow<Scalar> row(p);
  wait_for_previous();
  row.load();
  const float mean = p.centred ? row.mean([](float x) { return x; }) : 0.0F;
  const float square = row.mean([&](float x) { return (x - mean) * (x - mean); });
  row.store(mean, 1.0F / square_root(square + p.epsilon));
}

} // namespace

KERNEL(normalise_rows_f, 128, LayerNormRowsArguments) { normalise_whole_rows<float>(arguments); }
KERNEL(normalise_rows_h, 128, LayerNormRowsArguments) { normalise_whole_rows<Half>(arguments); }

} // namespace rtexec::tasks::cuda
