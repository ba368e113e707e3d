// Computes one tile of a convolution as an implicit matrix product A * B (conv_plan.hpp defines tiles, taps and
// splits).
//
// Rows of A are output pixels. Their elements are gathered from x while the sum advances over taps and channels. Rows
// of B are output channels. Asynchronous copies bring A and B to shared memory in pieces; a piece is 128 bytes of each
// row. Shared memory has `stages` buffers, each for one piece. Rows are 144 bytes apart, which keeps all accesses free
// of bank conflicts. Weights do not depend on the previous kernel. So their first pieces are fetched before the kernel
// waits for the previous kernel.
#pragma once

#include "tasks/engine/cuda/kernels/activation.cuh"
#include "tasks/engine/cuda/kernels/network_arguments.hpp"
#include "tasks/engine/cuda/kernels/conv_primitives.cuh"
#include "tasks/engine/cuda/kernels/half.cuh"
#include "tasks/engine/cuda/kernels/matrix_products.cuh"

namespace rtexec::tasks::cuda {

constexpr int conv_piece = 128;           // number of bytes of each row that are multiplied in one iteration
constexpr int conv_row = conv_piece + 16; // bytes from one row to the next in shared memory
constexpr int conv_chunks = conv_piece / 16;

/// Returns the value of the padding around an int8 image, repeated in each of four bytes.
DEVICE unsigned outside_of(const ConvArguments& conv) {
  return conv.zero ? static_cast<unsigned char>(*conv.zero) * 0x01010101U : conv.outside;
}

template <class Scalar, int tile_rows, int tile_columns, int thread_count, int stage_count> struct ConvShape {
  using Storage = Scalar;
  using Sum = typename SumType<Scalar>::type;
  static constexpr int rows = tile_rows, columns = tile_columns, threads = thread_count, stages = stage_count;
  static constexpr int per_chunk = 16 / static_cast<int>(sizeof(Scalar));
  static constexpr int per_piece = conv_piece / static_cast<int>(sizeof(Scalar));
  static constexpr int rows_at_once = threads / conv_chunks; // number of rows that all threads copy together
  static constexpr int a_copies = (rows + rows_at_once - 1) / rows_at_once;
  static constexpr int b_copies = (columns + rows_at_once - 1) / rows_at_once;
  static constexpr int stage_bytes = (rows + columns) * conv_row;
};

/// Copies the pieces of one tile to shared memory. Each thread copies one 16-byte chunk in each of several rows.
/// Offsets fit into 32 bits, because a tensor has at most 2^28 elements, padding included.
template <class Shape> struct ConvLoader {
  using Scalar = typename Shape::Storage;

  const ConvArguments& conv;
  SharedAddress a_to, b_to; // where this thread stores its first row of A and of B in stage 0
  const Scalar* x;          // address of the group's first channel
  const Scalar* weights;    // address of the weights of the tile's first column
  int sum;                  // number of terms of the sum
  int first_row;
  unsigned columns;            // bit i: this thread's row i of B is an output channel, not padding
  int column[Shape::b_copies]; // for each row of B: offset of its weights
  int pixel[Shape::a_copies];  // for each row of A: offset of its first tap
  int top[Shape::a_copies], left[Shape::a_copies];
  int channel, tap_h, tap_w; // position of this thread's chunk in the next piece of A
  int at;                    // index in the sum of this thread's chunk in the next piece of B

  DEVICE ConvLoader(const ConvArguments& arguments, SharedAddress shared, int group, int first_pixel, int first_column,
                    int first_piece)
      : conv(arguments) {
    const int chunk = thread_index() % conv_chunks;
    first_row = thread_index() / conv_chunks;
    a_to = shared + static_cast<unsigned>(first_row * conv_row + chunk * 16);
    b_to = a_to + Shape::rows * conv_row;
    sum = conv.kernel_h * conv.kernel_w * conv.channels;
    columns = 0;
#pragma unroll
    for (int i = 0; i < Shape::b_copies; ++i) {
      const int row = first_row + i * Shape::rows_at_once;
      column[i] = row * sum;
      columns |= row < Shape::columns && row < conv.out_channels - first_column ? 1U << i : 0U;
    }
    at = first_piece * Shape::per_piece + chunk * Shape::per_chunk;
    weights = static_cast<const Scalar*>(conv.weights) +
              static_cast<long long>(group * conv.out_channels + first_column) * sum;
    x = static_cast<const Scalar*>(conv.x) + group * conv.channels;
    const int tap = at / conv.channels;
    channel = at - tap * conv.channels;
    tap_h = tap / conv.kernel_w;
    tap_w = tap - tap_h * conv.kernel_w;
    const int image = conv.out_height * conv.out_width;
    const int all = conv.batch * image;
#pragma unroll 1
    for (int i = 0; i < Shape::a_copies; ++i) place(i, first_pixel, image, all);
  }

  DEVICE void place(int i, int first_pixel, int image, int all) {
    const int row = first_row + i * Shape::rows_at_once;
    const int number = first_pixel + row;
    const int n = number / image, in_image = number - n * image;
    const int h = in_image / conv.out_width;
    const bool inside = number < all && row < Shape::rows;
    const int row_top = h * conv.stride_h - conv.pad_top,
              row_left = (in_image - h * conv.out_width) * conv.stride_w - conv.pad_left;
    set<0>(i, inside ? row_top : -(1 << 29), row_left,
           inside ? ((n * conv.height + row_top) * conv.width + row_left) * conv.x_stride : 0);
  }
  /// Sets element i of the arrays `top`, `left` and `pixel`. Compares i with each constant index j in turn, because
  /// registers cannot be indexed at run time.
  template <int j> DEVICE void set(int i, int row_top, int row_left, int offset) {
    if (i == j) {
      top[j] = row_top;
      left[j] = row_left;
      pixel[j] = offset;
    }
    if constexpr (j + 1 < Shape::a_copies) set<j + 1>(i, row_top, row_left, offset);
  }

  DEVICE void load_a(int stage) {
    const SharedAddress to = a_to + static_cast<unsigned>(stage * Shape::stage_bytes);
    const int h = tap_h * conv.dilation_h, w = tap_w * conv.dilation_w;
    const int offset = (h * conv.width + w) * conv.x_stride + channel;
    const bool in_sum = tap_h < conv.kernel_h;
#pragma unroll
    for (int i = 0; i < Shape::a_copies; ++i) {
      const bool inside = in_sum && static_cast<unsigned>(top[i] + h) < static_cast<unsigned>(conv.height) &&
                          static_cast<unsigned>(left[i] + w) < static_cast<unsigned>(conv.width);
      if (Shape::rows % Shape::rows_at_once == 0 || first_row + i * Shape::rows_at_once < Shape::rows)
        copy_a(to + i * Shape::rows_at_once * conv_row, x + (pixel[i] + offset), inside);
    }
    channel += Shape::per_piece;
#pragma unroll 1
    while (channel >= conv.channels) {
      channel -= conv.channels;
      if (++tap_w == conv.kernel_w) {
        tap_w = 0;
        ++tap_h;
      }
    }
  }

  DEVICE void copy_a(SharedAddress to, const Scalar* from, bool inside) const {
    if (!is_byte<Scalar>) copy16(to, from, inside);
    else if (inside) copy16(to, from, true);
    else fill16(to, outside_of(conv));
  }

  DEVICE void load_b(int stage) {
    const SharedAddress to = b_to + static_cast<unsigned>(stage * Shape::stage_bytes);
#pragma unroll
    for (int i = 0; i < Shape::b_copies; ++i) {
      const bool inside = at < sum && (columns >> i & 1U) != 0;
      if (Shape::columns % Shape::rows_at_once == 0 || first_row + i * Shape::rows_at_once < Shape::columns)
        copy16(to + i * Shape::rows_at_once * conv_row, weights + (column[i] + at), inside);
    }
    at += Shape::per_piece;
  }
};

/// Computes the sums of a tile on CUDA cores. Each thread computes `own_rows` x `own_columns` elements. The elements of
/// different threads are interleaved.
template <class Shape, int own_rows, int own_columns> struct SimtSums {
  static constexpr int across = Shape::columns / own_columns; // number of threads along the columns
  static constexpr int down = Shape::rows / own_rows;
  static_assert(across * down == Shape::threads);
  static constexpr int count = own_rows * own_columns;
  static constexpr float scale = 1;
  typename Shape::Sum sums[own_rows][own_columns] = {};

  DEVICE static int own_row(int i) { return thread_index() / across + i * down; }
  DEVICE static int own_column(int j) { return thread_index() % across + j * across; }

  DEVICE void multiply(const char* stage) {
#pragma unroll 1
    for (int chunk = 0; chunk < conv_chunks; ++chunk) {
      Chunk<typename Shape::Storage> b[own_columns];
#pragma unroll
      for (int j = 0; j < own_columns; ++j) b[j].load(stage + (Shape::rows + own_column(j)) * conv_row + chunk * 16);
#pragma unroll
      for (int i = 0; i < own_rows; ++i) {
        Chunk<typename Shape::Storage> a;
        a.load(stage + own_row(i) * conv_row + chunk * 16);
#pragma unroll
        for (int j = 0; j < own_columns; ++j) add(sums[i][j], a, b[j]);
      }
    }
  }
  template <class Scalar> DEVICE static void add(float& sum, const Chunk<Scalar>& a, const Chunk<Scalar>& b) {
#pragma unroll
    for (int k = 0; k < Shape::per_chunk; ++k) sum += a.value(k) * b.value(k);
  }
  DEVICE static void add(int& sum, const Chunk<Byte>& a, const Chunk<Byte>& b) {
#pragma unroll
    for (int k = 0; k < 4; ++k) sum = add_products(a.words.word[k], b.words.word[k], sum);
  }

  DEVICE typename Shape::Sum& element(int e) { return sums[e / own_columns][e % own_columns]; }
  DEVICE static int row_of(int e) { return own_row(e / own_columns); }
  DEVICE static int column_of(int e) { return own_column(e % own_columns); }
};

#if defined(RTEXEC_MATRIX_UNITS)

/// Computes the sums of a tile on Tensor Cores. Each warp computes a part of the tile, in fragments of 16 rows by 8
/// columns.
template <class Shape, int warps_down, int warps_across, class Product> struct MatrixSums {
  static_assert(warps_down * warps_across * 32 == Shape::threads);
  static constexpr int warp_rows = Shape::rows / warps_down, warp_columns = Shape::columns / warps_across;
  static constexpr int high = warp_rows / 16, wide = warp_columns / 8; // number of fragments down and across
  static_assert(high * 16 == warp_rows && wide * 8 == warp_columns);
  static constexpr int count = high * wide * 4;
  static constexpr float scale = Product::scale;
  typename Shape::Sum sums[high][wide][4] = {};

  DEVICE static int lane() { return thread_index() % 32; }
  DEVICE static int warp_row() { return thread_index() / 32 / warps_across * warp_rows; }
  DEVICE static int warp_column() { return thread_index() / 32 % warps_across * warp_columns; }

  DEVICE void multiply(const char* stage) {
    // One load brings four matrices of 8 rows by 16 bytes. For A: rows 0-7 and rows 8-15 of the left chunk, then the
    // same rows of the right chunk. For B: both chunks of 8 columns, then both chunks of the next 8 columns.
    const SharedAddress from = shared_address(stage);
    const SharedAddress a_lane = from + static_cast<unsigned>((warp_row() + lane() % 16) * conv_row + lane() / 16 * 16);
    const int b_column = wide == 1 ? lane() % 8 : lane() / 16 * 8 + lane() % 8;
    const SharedAddress b_lane =
        from + static_cast<unsigned>((Shape::rows + warp_column() + b_column) * conv_row + lane() / 8 % 2 * 16);
    Fragments fragments[2];
    fragments[0].load(a_lane, b_lane);
#pragma unroll
    for (int step = 0; step < steps; ++step) {
      if (step + 1 < steps) fragments[(step + 1) % 2].load(a_lane + (step + 1) * 32, b_lane + (step + 1) * 32);
      multiply(fragments[step % 2]);
    }
  }

 private:
  static constexpr int steps = conv_piece / 32;
  static constexpr int pairs = (wide + 1) / 2; // number of pairs of fragments of B

  /// The fragments of one step of the sum. While one step's fragments are multiplied, the next step's fragments are
  /// loaded.
  struct Fragments {
    unsigned a[high][4], b[pairs][4];
    DEVICE void load(SharedAddress a_lane, SharedAddress b_lane) {
#pragma unroll
      for (int i = 0; i < high; ++i) load_matrices(a[i], a_lane + i * 16 * conv_row);
#pragma unroll
      for (int j = 0; j < pairs; ++j) load_matrices(b[j], b_lane + j * 16 * conv_row);
    }
  };

  DEVICE void multiply(Fragments& of) {
#pragma unroll
    for (int i = 0; i < high; ++i)
#pragma unroll
      for (int j = 0; j < wide; ++j) {
        const unsigned b[2] = {of.b[j / 2][j % 2 * 2], of.b[j / 2][j % 2 * 2 + 1]};
        Product::multiply(sums[i][j], of.a[i], b);
      }
  }

 public:
  DEVICE typename Shape::Sum& element(int e) { return sums[e / 4 / wide][e / 4 % wide][e % 4]; }
  DEVICE static int row_of(int e) { return warp_row() + e / 4 / wide * 16 + e % 4 / 2 * 8 + lane() / 4; }
  DEVICE static int column_of(int e) { return warp_column() + e / 4 % wide * 8 + lane() % 4 * 2 + e % 2; }
};

#endif

/// Return a sum in the form in which it is stored in shared or global memory. A float sum is scaled. The bits of an
/// integer sum are returned as a float.
DEVICE float on_its_way(float sum, float scale) { return sum * scale; }
DEVICE float on_its_way(int sum, float) { return bits_float(static_cast<unsigned>(sum)); }

/// The layout of the tile's sums in shared memory, from which whole rows are stored to y. Rows are padded by 32 bytes
/// against bank conflicts.
template <class Shape> struct StagedTile {
  static constexpr int row = Shape::columns + 8; // number of floats from one row to the next
  static constexpr int quads_across = Shape::columns / 4;
  static constexpr int quads = Shape::rows * quads_across;
  static_assert(row * Shape::rows * 4 <= Shape::stages * Shape::stage_bytes);
  // Returns the offset of a quad (four columns of a row), in floats.
  DEVICE static int offset(int quad) { return quad / quads_across * row + quad % quads_across * 4; }
};

template <class Shape, class Sums> DEVICE void stage_sums(float* staged, Sums& sums) {
#pragma unroll
  for (int e = 0; e < Sums::count; ++e)
    staged[Sums::row_of(e) * StagedTile<Shape>::row + Sums::column_of(e)] = on_its_way(sums.element(e), Sums::scale);
}

template <class Sum> DEVICE void add(float (&sum)[4], const float (&part)[4]);
template <> DEVICE void add<float>(float (&sum)[4], const float (&part)[4]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) sum[i] += part[i];
}
template <> DEVICE void add<int>(float (&sum)[4], const float (&part)[4]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) sum[i] = bits_float(float_bits(sum[i]) + float_bits(part[i]));
}

template <class Shape> DEVICE void load_staged(float (&to)[4], const float* staged, int quad) {
  Elements<float, 4> elements;
  elements.load(staged + StagedTile<Shape>::offset(quad));
#pragma unroll
  for (int i = 0; i < 4; ++i) to[i] = elements.values[i];
}

/// Adds bias and residual, applies the activation and stores the tile, one quad (four columns of a pixel) at a time.
/// All quads of a thread have the same columns, so the thread fetches their biases once and early.
template <class Shape, bool int8 = is_byte<typename Shape::Storage>> struct ConvOutput {
  using Scalar = typename Shape::Storage;
  static_assert(Shape::threads % StagedTile<Shape>::quads_across == 0);
  static constexpr int at_once = 4;

  const ConvArguments& conv;
  int first_pixel, pixels;
  int channel;      // first of the four channels of this thread
  int columns_left; // number of columns of the group, counted from this thread's first column
  bool at_a_time;   // true: one access stores each quad, and one access loads its residual
  float bias[4];

  DEVICE ConvOutput(const ConvArguments& arguments, int group, int tile_pixel, int tile_column)
      : conv(arguments), first_pixel(tile_pixel), pixels(arguments.batch * arguments.out_height * arguments.out_width) {
    const int column = tile_column + thread_index() % StagedTile<Shape>::quads_across * 4;
    channel = group * conv.out_channels + column;
    columns_left = conv.out_channels - column;
    const unsigned strides =
        static_cast<unsigned>(conv.y_stride | conv.out_channels | (conv.residual ? conv.residual_stride : 0));
    at_a_time = strides % 4 == 0 && aligned(conv.y) && aligned(conv.residual);
#pragma unroll
    for (int i = 0; i < 4; ++i) bias[i] = conv.bias && i < columns_left ? conv.bias[channel + i] : 0.0F;
  }

  /// Stores this thread's quads. Their numbers are `first` + the thread's index, and then every `stride`-th number.
  /// sum_of(sum, quad) must write the sums of a quad to `sum`.
  template <class SumOf> DEVICE void store(int first, int stride, SumOf sum_of) const {
    if (columns_left <= 0) return;
    if (!at_a_time) return store_apart(first, stride, sum_of);
#pragma unroll 1
    for (int quad = first + thread_index(); quad < StagedTile<Shape>::quads; quad += stride * at_once) {
      Elements<Scalar, 4> residual[at_once];
      if (conv.residual)
#pragma unroll
        for (int i = 0; i < at_once; ++i)
          if (inside(quad + i * stride))
            residual[i].load(static_cast<const Scalar*>(conv.residual) +
                             offset(quad + i * stride, conv.residual_stride));
      float sum[at_once][4];
#pragma unroll
      for (int i = 0; i < at_once; ++i)
        if (inside(quad + i * stride)) sum_of(sum[i], quad + i * stride);
#pragma unroll 1
      for (int i = 0; i < at_once; ++i) {
        if (inside(quad + i * stride)) finish(quad + i * stride, sum[0], residual[0]);
#pragma unroll
        for (int j = 0; j + 1 < at_once; ++j)
#pragma unroll
          for (int k = 0; k < 4; ++k) {
            sum[j][k] = sum[j + 1][k];
            residual[j].values[k] = residual[j + 1].values[k];
          }
      }
    }
  }

 private:
  DEVICE int pixel_of(int quad) const { return first_pixel + quad / StagedTile<Shape>::quads_across; }
  DEVICE bool inside(int quad) const { return quad < StagedTile<Shape>::quads && pixel_of(quad) < pixels; }
  DEVICE long long offset(int quad, int stride) const {
    return static_cast<long long>(pixel_of(quad)) * stride + channel;
  }

  DEVICE void finish(int quad, const float (&sum)[4], const Elements<Scalar, 4>& residual) const {
    Elements<Scalar, 4> result;
#pragma unroll
    for (int i = 0; i < 4; ++i)
      result.values[i] = finished(conv, sum[i] + bias[i], conv.residual ? residual.values[i] : 0.0F);
    result.store(static_cast<Scalar*>(conv.y) + offset(quad, conv.y_stride));
  }

  template <class SumOf> DEVICE void store_apart(int first, int stride, SumOf sum_of) const {
#pragma unroll 1
    for (int quad = first + thread_index(); inside(quad); quad += stride) {
      float sum[4];
      sum_of(sum, quad);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if (i >= columns_left) continue;
        const float residual =
            conv.residual ? to_float(static_cast<const Scalar*>(conv.residual)[offset(quad, conv.residual_stride) + i])
                          : 0.0F;
        static_cast<Scalar*>(conv.y)[offset(quad, conv.y_stride) + i] =
            from_float<Scalar>(finished(conv, sum[i] + bias[i], residual));
      }
    }
  }
};

/// Adds up the partial sums of all splits in order. load(part, s) must load the partial sums of split s. Several loads
/// are in flight at once.
template <class Sum, class Load> DEVICE void add_parts(float (&sum)[4], int splits, Load load) {
  constexpr int at_once = 4;
#pragma unroll
  for (int k = 0; k < 4; ++k) sum[k] = 0;
#pragma unroll 1
  for (int s = 0; s < splits; s += at_once) {
    float part[at_once][4] = {};
#pragma unroll
    for (int j = 0; j < at_once; ++j)
      if (s + j < splits) load(part[j], s + j);
#pragma unroll
    for (int j = 0; j < at_once; ++j) add<Sum>(sum, part[j]);
  }
}

/// Stores a tile that one block computes alone.
template <class Shape> DEVICE void store_alone(const ConvOutput<Shape>& output, const float* staged) {
  output.store(0, Shape::threads, [&](float(&sum)[4], int quad) { load_staged<Shape>(sum, staged, quad); });
}

#if defined(RTEXEC_CLUSTERS)
/// Stores a tile whose splits form a cluster. Each block adds up and stores a share of the quads.
template <class Shape>
DEVICE void store_in_cluster(const ConvOutput<Shape>& output, const float* staged, int split, int splits) {
  const SharedAddress mine = shared_address(staged);
  cluster_barrier();
  output.store(split * Shape::threads, splits * Shape::threads, [&](float(&sum)[4], int quad) {
    const SharedAddress at = mine + static_cast<unsigned>(StagedTile<Shape>::offset(quad) * 4);
    add_parts<typename Shape::Sum>(
        sum, splits, [&](float(&part)[4], int s) { load_from_cluster(part, in_block_of_cluster(at, s)); });
  });
  cluster_barrier(); // no block may end before all blocks have read its memory
}
#endif

/// Stores a tile whose partial sums are in global memory. The last block to finish adds them up in the order of splits.
template <class Shape>
DEVICE void store_last(const ConvArguments& conv, const ConvOutput<Shape>& output, const float* staged, int tile,
                       int split) {
  constexpr int part = Shape::rows * Shape::columns;
  float* parts = conv.partial + static_cast<long long>(tile) * conv.splits * part;
#pragma unroll 2
  for (int quad = thread_index(); quad < StagedTile<Shape>::quads; quad += Shape::threads) {
    Elements<float, 4> elements;
    elements.load(staged + StagedTile<Shape>::offset(quad));
    elements.store(parts + split * part + quad * 4);
  }
  bool& last = shared_memory<bool>();
  publish();
  barrier();
  if (thread_index() == 0) {
    last = count_up(conv.counters + tile) == static_cast<unsigned>(conv.splits - 1);
    if (last) conv.counters[tile] = 0;
    publish();
  }
  barrier();
  if (!last) return;
  output.store(0, Shape::threads, [&](float(&sum)[4], int quad) {
    add_parts<typename Shape::Sum>(sum, conv.splits,
                                   [&](float(&other)[4], int s) { load_fresh4(other, parts + s * part + quad * 4); });
  });
}

template <class Shape, class Sums> DEVICE void conv_tile(const ConvArguments& conv) {
  char* shared = dynamic_shared();
  const int group = block_z() / conv.splits, split = block_z() % conv.splits;
  const int first_pixel = block_x() * Shape::rows, first_column = block_y() * Shape::columns;
  const int pieces = (conv.kernel_h * conv.kernel_w * conv.channels + Shape::per_piece - 1) / Shape::per_piece;
  const int begin = pieces * split / conv.splits, end = pieces * (split + 1) / conv.splits;

  let_next_start();
  ConvLoader<Shape> loader(conv, shared_address(shared), group, first_pixel, first_column, begin);
#pragma unroll 1
  for (int stage = 0; stage < Shape::stages - 1; ++stage)
    if (begin + stage < end) loader.load_b(stage);
  const ConvOutput<Shape> output(conv, group, first_pixel, first_column);
  wait_for_previous();
#pragma unroll 1
  for (int stage = 0; stage < Shape::stages - 1; ++stage) {
    if (begin + stage < end) loader.load_a(stage);
    commit_copies();
  }

  Sums sums;
  int stage = 0, next = Shape::stages - 1;
#pragma unroll 1
  for (int piece = begin; piece < end; ++piece) {
    await_copies<Shape::stages - 2>();
    barrier();
    if (piece + Shape::stages - 1 < end) {
      loader.load_a(next);
      loader.load_b(next);
    }
    commit_copies();
    sums.multiply(shared + stage * Shape::stage_bytes);
    stage = stage + 1 == Shape::stages ? 0 : stage + 1;
    next = next + 1 == Shape::stages ? 0 : next + 1;
  }

  barrier(); // ensures that all threads have finished reading the stages
  float* staged = reinterpret_cast<float*>(shared);
  stage_sums<Shape>(staged, sums);
#if defined(RTEXEC_CLUSTERS)
  if (conv.in_cluster) return store_in_cluster<Shape>(output, staged, split, conv.splits);
#endif
  barrier();
  if (conv.splits == 1) return store_alone<Shape>(output, staged);
  store_last<Shape>(conv, output, staged, (group * blocks_y() + block_y()) * blocks_x() + block_x(), split);
}

} // namespace rtexec::tasks::cuda
