// Products of any shape and alignment: matrix products with any strides, and convolutions that no tuned kernel
// supports.
#include "tasks/engine/cuda/kernels/activation.cuh"
#include "tasks/engine/cuda/kernels/items.cuh"

namespace rtexec::tasks::cuda {

constexpr int product_tile = 32; // number of rows, columns and terms that are in shared memory at once
struct ProductTile {
  float a[product_tile][product_tile + 1], b[product_tile][product_tile + 1]; // [row][term], [column][term]
};

namespace {

constexpr int tile = product_tile;
constexpr int tile_threads = 128;
/// The numbers of rows and columns that each thread computes. The elements of different threads are interleaved.
constexpr int own_rows = 2, own_columns = 4;
constexpr int threads_across = tile / own_columns, threads_down = tile / own_rows;
static_assert(threads_across * threads_down == tile_threads);

/// Copies a tile of an operand to shared memory. operand.term(k) selects term k of the sum. Then operand.load(row)
/// returns the element of that term in a row, or zero outside of the operand. If `along_terms` is set, neighbouring
/// threads load different terms; otherwise they load different rows.
template <class Operand> DEVICE void fetch(float (&to)[tile][tile + 1], Operand& operand, int first_term) {
  constexpr int at_once = tile_threads / tile;
  const int fast = thread_index() % tile, slow = thread_index() / tile;
  if (operand.along_terms) {
    operand.term(first_term + fast);
#pragma unroll
    for (int i = 0; i < tile; i += at_once) to[slow + i][fast] = operand.load(slow + i);
  } else {
#pragma unroll
    for (int i = 0; i < tile; i += at_once) {
      operand.term(first_term + slow + i);
      to[fast][slow + i] = operand.load(fast);
    }
  }
}

/// Computes a tile of the product, and calls store(row, column, sum) for each of its elements.
template <class A, class B, class Store> DEVICE void multiply_tile(A& a, B& b, int terms, Store store) {
  auto& shared = shared_memory<ProductTile>();
  const int row = thread_index() / threads_across, column = thread_index() % threads_across;
  float sums[own_rows][own_columns] = {};
  for (int first = 0; first < terms; first += tile) {
    fetch(shared.a, a, first);
    fetch(shared.b, b, first);
    barrier();
    const int left = terms - first < tile ? terms - first : tile;
#pragma unroll 8
    for (int k = 0; k < left; ++k) {
      float factors[own_columns];
#pragma unroll
      for (int j = 0; j < own_columns; ++j) factors[j] = shared.b[column + j * threads_across][k];
#pragma unroll
      for (int i = 0; i < own_rows; ++i) {
        const float factor = shared.a[row + i * threads_down][k];
#pragma unroll
        for (int j = 0; j < own_columns; ++j) sums[i][j] = multiply_add(factor, factors[j], sums[i][j]);
      }
    }
    barrier();
  }
#pragma unroll
  for (int i = 0; i < own_rows; ++i)
#pragma unroll
    for (int j = 0; j < own_columns; ++j) store(row + i * threads_down, column + j * threads_across, sums[i][j]);
}

/// An operand that is a matrix in memory. Its rows are rows of the left or columns of the right factor.
template <class Scalar> struct MatrixOperand {
  const Scalar* begin; // address of the tile's first row
  long long row_stride, term_stride;
  int rows, terms; // number of rows from `begin` on; number of terms of the sum
  bool along_terms;
  long long at = 0;
  bool in_sum = false;

  DEVICE void term(int k) {
    in_sum = k < terms;
    at = k * term_stride;
  }
  DEVICE float load(int row) const { return in_sum && row < rows ? to_float(begin[row * row_stride + at]) : 0.0F; }
};

/// An operand whose rows are output pixels. The terms of a row run over the taps and channels of the pixel's window.
template <class Scalar> struct WindowOperand {
  const ConvArguments& p;
  const Scalar* x; // address of the group's first channel
  int first_pixel, pixels, terms;
  bool along_terms = true;
  bool in_sum = false;
  /// The offset of the current term's tap from (out.h * stride_h, out.w * stride_w) in x, and the channel of the term.
  int h = 0, w = 0, channel = 0;

  DEVICE void term(int k) {
    in_sum = k < terms;
    const int tap = k / p.channels;
    channel = k - tap * p.channels;
    h = tap / p.kernel_w * p.dilation_h - p.pad_top;
    w = tap % p.kernel_w * p.dilation_w - p.pad_left;
  }
  DEVICE float load(int row) const {
    if (!in_sum || row >= pixels - first_pixel) return 0.0F;
    const Pixel out(static_cast<unsigned>(first_pixel + row), p.out_height, p.out_width);
    const int from_h = out.h * p.stride_h + h, from_w = out.w * p.stride_w + w;
    if (from_h < 0 || from_h >= p.height || from_w < 0 || from_w >= p.width) return 0.0F;
    return to_float(x[pixel_offset(out.n, from_h, from_w, p.height, p.width, p.x_stride) + channel]);
  }
};

template <class Scalar> DEVICE void store_output(const ConvArguments& p, int pixel, int channel, float value) {
  if (p.bias) value += p.bias[channel];
  const long long at = static_cast<long long>(pixel) * p.residual_stride + channel;
  const float residual = p.residual ? to_float(static_cast<const Scalar*>(p.residual)[at]) : 0.0F;
  static_cast<Scalar*>(p.y)[static_cast<long long>(pixel) * p.y_stride + channel] =
      from_float<Scalar>(finished(p, value, residual));
}

template <class Scalar> DEVICE void conv_direct(const ConvArguments& p) {
  let_next_start();
  wait_for_previous();
  const int group = block_z(), first_pixel = block_x() * tile, first_channel = block_y() * tile;
  const int pixels = p.batch * p.out_height * p.out_width, terms = p.kernel_h * p.kernel_w * p.channels;
  WindowOperand<Scalar> a{p, static_cast<const Scalar*>(p.x) + static_cast<long long>(group) * p.channels, first_pixel,
                          pixels, terms};
  const int of_all = group * p.out_channels + first_channel;
  MatrixOperand<Scalar> b{static_cast<const Scalar*>(p.weights) + static_cast<long long>(of_all) * terms,
                          terms,
                          1,
                          p.out_channels - first_channel,
                          terms,
                          true};
  multiply_tile(a, b, terms, [&](int row, int column, float sum) {
    if (first_pixel + row < pixels && first_channel + column < p.out_channels)
      store_output<Scalar>(p, first_pixel + row, of_all + column, sum);
  });
}

/// Computes one output on one warp. The lanes divide the channels of every tap among them.
template <class Scalar, int count>
DEVICE float dot_window(const ConvArguments& p, const Pixel& out, int group, int channel) {
  const int lane = thread_index() % 32;
  const long long terms = static_cast<long long>(p.kernel_h) * p.kernel_w * p.channels;
  const Scalar* weights = static_cast<const Scalar*>(p.weights) + channel * terms;
  const Scalar* x = static_cast<const Scalar*>(p.x) + static_cast<long long>(group) * p.channels;
  float sums[count] = {};
  for (int kh = 0; kh < p.kernel_h; ++kh) {
    const int h = out.h * p.stride_h - p.pad_top + kh * p.dilation_h;
    for (int kw = 0; kw < p.kernel_w; ++kw, weights += p.channels) {
      const int w = out.w * p.stride_w - p.pad_left + kw * p.dilation_w;
      if (h < 0 || h >= p.height || w < 0 || w >= p.width) continue;
      const Scalar* from = x + pixel_offset(out.n, h, w, p.height, p.width, p.x_stride);
      constexpr int at_once = 4; // number of loads in flight
      for (int c = lane * count; c < p.channels; c += at_once * 32 * count) {
        Elements<Scalar, count> a[at_once], b[at_once];
#pragma unroll
        for (int j = 0; j < at_once; ++j)
          if (c + j * 32 * count < p.channels) {
            a[j].load(from + c + j * 32 * count);
            b[j].load(weights + c + j * 32 * count);
          }
#pragma unroll
        for (int j = 0; j < at_once; ++j)
          if (c + j * 32 * count < p.channels)
#pragma unroll
            for (int i = 0; i < count; ++i) sums[i] = multiply_add(a[j].values[i], b[j].values[i], sums[i]);
      }
    }
  }
  float sum = sums[0];
#pragma unroll
  for (int i = 1; i < count; ++i) sum += sums[i];
  for (int mask = 16; mask > 0; mask /= 2) sum += exchange(sum, mask);
  return sum;
}

template <class Scalar> DEVICE void conv_rows(const ConvArguments& p) {
  let_next_start();
  wait_for_previous();
  const unsigned channels = static_cast<unsigned>(p.groups) * static_cast<unsigned>(p.out_channels);
  // Counts warps instead of threads, because the number of threads in the grid may not fit into 32 bits.
  const unsigned warps = static_cast<unsigned>(block_threads()) / 32U;
  const unsigned output = static_cast<unsigned>(block_x()) * warps + static_cast<unsigned>(thread_index()) / 32U;
  if (output >= static_cast<unsigned>(p.batch) * static_cast<unsigned>(p.out_height) *
                    static_cast<unsigned>(p.out_width) * channels)
    return;
  const unsigned pixel = output / channels;
  const int channel = static_cast<int>(output - pixel * channels), group = channel / p.out_channels;
  const Pixel out(pixel, p.out_height, p.out_width);
  constexpr int chunk = chunk_elements<Scalar>;
  const bool chunks =
      p.channels % chunk == 0 && in_chunks<chunk>(p.x, p.x_stride, sizeof(Scalar)) && aligned(p.weights);
  const float sum =
      chunks ? dot_window<Scalar, chunk>(p, out, group, channel) : dot_window<Scalar, 1>(p, out, group, channel);
  if (thread_index() % 32 == 0) store_output<Scalar>(p, static_cast<int>(pixel), channel, sum);
}

template <class Scalar> DEVICE void multiply_batch(const GemmArguments& p, unsigned batch) {
  const int first_row = block_x() * tile, first_column = block_y() * tile;
  MatrixOperand<Scalar> a{static_cast<const Scalar*>(p.a) + offset_of(p.a_batch, batch) + first_row * p.a_row,
                          p.a_row,
                          p.a_column,
                          p.m - first_row,
                          p.k,
                          p.a_column == 1};
  MatrixOperand<Scalar> b{static_cast<const Scalar*>(p.b) + offset_of(p.b_batch, batch) + first_column * p.b_column,
                          p.b_column,
                          p.b_row,
                          p.n - first_column,
                          p.k,
                          p.b_row == 1};
  const Scalar* residual = static_cast<const Scalar*>(p.residual) + offset_of(p.residual_batch, batch);
  Scalar* y = static_cast<Scalar*>(p.y) + offset_of(p.y_batch, batch);
  multiply_tile(a, b, p.k, [&](int row, int column, float sum) {
    const long long i = first_row + row, j = first_column + column;
    if (i >= p.m || j >= p.n) return;
    float value = p.alpha * sum;
    if (p.c) value += p.beta * to_float(static_cast<const Scalar*>(p.c)[i * p.c_row + j * p.c_column]);
    if (p.residual) value += to_float(residual[i * p.residual_row + j * p.residual_column]);
    y[i * p.y_row + j * p.y_column] = from_float<Scalar>(activated_quickly(value, p.activation));
  });
}

template <class Scalar> DEVICE void gemm(const GemmArguments& p) {
  let_next_start();
  wait_for_previous();
  const unsigned batches = element_count(p.a_batch);
  for (unsigned batch = static_cast<unsigned>(block_z()); batch < batches; batch += static_cast<unsigned>(blocks_z()))
    multiply_batch<Scalar>(p, batch);
}

} // namespace

KERNEL(conv_direct_f, 128, ConvArguments) { conv_direct<float>(arguments); }
KERNEL(conv_direct_h, 128, ConvArguments) { conv_direct<Half>(arguments); }
KERNEL(conv_rows_f, 128, ConvArguments) { conv_rows<float>(arguments); }
KERNEL(conv_rows_h, 128, ConvArguments) { conv_rows<Half>(arguments); }
KERNEL(gemm_generic_f, 128, GemmArguments) { gemm<float>(arguments); }
KERNEL(gemm_generic_h, 128, GemmArguments) { gemm<Half>(arguments); }

} // namespace rtexec::tasks::cuda
