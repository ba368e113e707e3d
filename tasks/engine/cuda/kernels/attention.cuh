// Attention that never stores all scores in memory. A block processes some rows of queries, and iterates over the keys
// in tiles. Asynchronous copies bring the tiles to shared memory, double-buffered. For each row, the block keeps three
// running results: the largest score, the sum of the exponentials of (score - largest), and the sum of the values
// weighted with these exponentials. This is the online softmax (Milakov and Gimelshein 2018, Dao et al. 2022).
//
// A block has four warps, which form `row_warps` groups of `key_warps` warps. The warps of a group process the same 16
// rows of queries, and divide the keys of every tile among them. At the end, they add up their partial results.
#pragma once

#include "tasks/engine/cuda/kernels/network_arguments.hpp"
#include "tasks/engine/cuda/kernels/conv_primitives.cuh"
#include "tasks/engine/cuda/kernels/functions.cuh"
#include "tasks/engine/cuda/kernels/items.cuh"
#include "tasks/engine/cuda/kernels/matrix_products.cuh"

namespace rtexec::tasks::cuda {

#if defined(RTEXEC_MATRIX_UNITS)

/// Products in tf32. Both factors are rounded to tf32 here, because neither factor is a weight that was rounded in
/// advance.
struct AttentionTf32 {
  using Scalar = float;
  DEVICE static void multiply(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    unsigned rounded_a[4], rounded_b[2];
#pragma unroll
    for (int i = 0; i < 4; ++i) rounded_a[i] = rounded_to_tf32(a[i]);
#pragma unroll
    for (int i = 0; i < 2; ++i) rounded_b[i] = rounded_to_tf32(b[i]);
    multiply_tf32(d, rounded_a, rounded_b);
  }
};

struct AttentionTf32x3 : Tf32x3Product {
  using Scalar = float;
};
struct AttentionHalf : HalfProduct {
  using Scalar = Half;
};

template <class Math, int head_size, int warps_of_keys> struct AttentionShape {
  using Scalar = typename Math::Scalar;
  static constexpr int size = head_size; // number of elements of a row of queries, keys and values, rounded up
  static constexpr int warps = attention_warps, key_warps = warps_of_keys, row_warps = warps / key_warps;
  static constexpr int rows = row_warps * 16;
  static constexpr int own_keys = attention_keys<Scalar>; // number of keys that one warp processes in a tile
  static constexpr int keys = own_keys * key_warps;
  static constexpr int chunks = size * static_cast<int>(sizeof(Scalar)) / 16; // number of 16-byte chunks of a row
  static constexpr int row = chunks * 16 + 16; // bytes from one row to the next, padded against bank conflicts
  static constexpr int steps = chunks / 2;     // number of matrix products along a row
  static constexpr int stage = 2 * keys * row;
  static constexpr int per_chunk = 16 / static_cast<int>(sizeof(Scalar));
};

template <class Math, class Shape> struct AttentionTile {
  using Scalar = typename Math::Scalar;
  /// The number of fragments of the scores, and of the values.
  static constexpr int groups = Shape::own_keys / 8, wide = Shape::size / 8;

  const AttentionArguments& p;
  SharedAddress queries, stages;
  const Scalar *k, *v;
  float sums[wide][4] = {};
  /// For each of the two rows of this lane: the largest score so far, and the sum of the exponentials.
  float most[2] = {-infinity, -infinity}, total[2] = {};

  DEVICE static int lane() { return thread_index() % 32; }
  DEVICE static int key_warp() { return thread_index() / 32 % Shape::key_warps; }
  DEVICE static int row_warp() { return thread_index() / 32 / Shape::key_warps; }

  /// Copies `count` rows of `columns` elements, beginning with row `first`. Writes zeros for rows from `last` on, and
  /// for columns from `columns` on.
  DEVICE static void copy_rows(SharedAddress to, const Scalar* from, long long stride, int first, int count, int last,
                               int columns) {
#pragma unroll 4
    for (int i = thread_index(); i < count * Shape::chunks; i += Shape::warps * 32) {
      const int row = i / Shape::chunks, chunk = i % Shape::chunks;
      const bool inside = first + row < last && chunk * Shape::per_chunk < columns;
      copy16(to + static_cast<unsigned>(row * Shape::row + chunk * 16),
             inside ? from + (first + row) * stride + chunk * Shape::per_chunk : from, inside);
    }
  }
  DEVICE void copy_tile(int tile) const {
    const SharedAddress to = stages + static_cast<unsigned>(tile % 2 * Shape::stage);
    copy_rows(to, k, p.k_row, tile * Shape::keys, Shape::keys, p.n, p.d);
    copy_rows(to + Shape::keys * Shape::row, v, p.v_row, tile * Shape::keys, Shape::keys, p.n, p.e);
  }

  DEVICE void score(float (&scores)[groups][4], SharedAddress keys) const {
    const SharedAddress a_lane =
        queries + static_cast<unsigned>((row_warp() * 16 + lane() % 16) * Shape::row + lane() / 16 * 16);
    const SharedAddress b_lane =
        keys + static_cast<unsigned>((lane() / 16 * 8 + lane() % 8) * Shape::row + lane() / 8 % 2 * 16);
#pragma unroll
    for (int step = 0; step < Shape::steps; ++step) {
      unsigned a[4];
      load_matrices(a, a_lane + static_cast<unsigned>(step * 32));
#pragma unroll
      for (int pair = 0; pair < groups / 2; ++pair) {
        unsigned b[4];
        load_matrices(b, b_lane + static_cast<unsigned>(pair * 16 * Shape::row + step * 32));
        const unsigned low[2] = {b[0], b[1]}, high[2] = {b[2], b[3]};
        Math::multiply(scores[2 * pair], a, low);
        Math::multiply(scores[2 * pair + 1], a, high);
      }
    }
  }

  /// Scales the scores and adds the mask. Sets the scores of keys beyond the last key to minus infinity. The scale
  /// includes the factor log2(e), so that later steps can use powers of 2 instead of e.
  DEVICE void finish_scores(float (&scores)[groups][4], const Scalar* mask, int first_row, int first_key) const {
#pragma unroll
    for (int g = 0; g < groups; ++g)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int row = first_row + lane() / 4 + i / 2 * 8, key = first_key + g * 8 + lane() % 4 * 2 + i % 2;
        float& value = scores[g][i];
        value *= p.scale * to_base_2;
        if (key >= p.n) value = -infinity;
        else if (mask && row < p.m) value += to_float(mask[row * p.mask_row + key * p.mask_column]) * to_base_2;
      }
  }

  /// Replaces each score s by 2^(s - largest score), and adds these powers to `total`. Rescales the previous sums to
  /// the new largest score.
  DEVICE void add_scores(float (&scores)[groups][4]) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float largest = most[half];
#pragma unroll
      for (int g = 0; g < groups; ++g)
#pragma unroll
        for (int i = 0; i < 2; ++i) largest = at_least(largest, scores[g][half * 2 + i]);
      largest = at_least(largest, exchange(largest, 1));
      largest = at_least(largest, exchange(largest, 2));
      const float base = largest == -infinity ? 0.0F : largest; // 0 if all keys so far are masked
      const float shrunk = power_of_two(most[half] - base);
      most[half] = largest;
      float sum = 0;
#pragma unroll
      for (int g = 0; g < groups; ++g)
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          float& score = scores[g][half * 2 + i];
          score = power_of_two(score - base);
          sum += score;
        }
      total[half] = multiply_add(total[half], shrunk, sum);
#pragma unroll
      for (int j = 0; j < wide; ++j)
#pragma unroll
        for (int i = 0; i < 2; ++i) sums[j][half * 2 + i] *= shrunk;
    }
  }

  /// Adds the products of scores and values to the sums. The scores that a lane already holds form its fragment of the
  /// left factor. For halves, they are in the order that the matrix instruction expects. For floats, the keys are in a
  /// different order, which is the same in both factors. This changes only the order of each sum's terms.
  DEVICE void add_values(const float (&scores)[groups][4], const char* values) {
    if constexpr (sizeof(Scalar) == 2) {
      const SharedAddress from =
          shared_address(values) +
          static_cast<unsigned>((lane() % 8 + lane() / 8 % 2 * 8) * Shape::row + lane() / 16 * 16);
#pragma unroll
      for (int g = 0; g < groups; g += 2) {
        const unsigned a[4] = {two_halves(scores[g][0], scores[g][1]), two_halves(scores[g][2], scores[g][3]),
                               two_halves(scores[g + 1][0], scores[g + 1][1]),
                               two_halves(scores[g + 1][2], scores[g + 1][3])};
#pragma unroll
        for (int j = 0; j < wide; j += 2) {
          unsigned b[4];
          load_matrices_transposed(b, from + static_cast<unsigned>(g * 8 * Shape::row + j * 16));
          const unsigned low[2] = {b[0], b[1]}, high[2] = {b[2], b[3]};
          Math::multiply(sums[j], a, low);
          Math::multiply(sums[j + 1], a, high);
        }
      }
    } else {
#pragma unroll
      for (int g = 0; g < groups; ++g) {
        const unsigned a[4] = {float_bits(scores[g][0]), float_bits(scores[g][2]), float_bits(scores[g][1]),
                               float_bits(scores[g][3])};
        const char* row = values + (g * 8 + lane() % 4 * 2) * Shape::row + lane() / 4 * 4;
#pragma unroll
        for (int j = 0; j < wide; ++j) {
          const unsigned b[2] = {*reinterpret_cast<const unsigned*>(row + j * 32),
                                 *reinterpret_cast<const unsigned*>(row + Shape::row + j * 32)};
          Math::multiply(sums[j], a, b);
        }
      }
    }
  }

  /// Adds up the totals of the four lanes that share a row.
  DEVICE void finish_totals() {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      total[half] += exchange(total[half], 1);
      total[half] += exchange(total[half], 2);
    }
  }

  DEVICE void scale_sums(int half, float factor) {
#pragma unroll
    for (int j = 0; j < wide; ++j)
#pragma unroll
      for (int i = 0; i < 2; ++i) sums[j][half * 2 + i] *= factor;
  }

  DEVICE static float one_over(float total) { return total > 0.0F ? inverse(total) : 0.0F; }

  /// Stores the elements of two neighbouring columns. `column` must be even. Rows consist of whole chunks, so that
  /// either both columns exist or none.
  DEVICE void store_pair(Scalar* y, int row, int column, float first, float second) const {
    if (row >= p.m || column >= p.e) return;
    const Elements<Scalar, 2> pair{first, second};
    pair.store(y + row * p.y_row + column);
  }

  DEVICE void store_alone(Scalar* y, int first_row) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      scale_sums(half, one_over(total[half]));
#pragma unroll
      for (int j = 0; j < wide; ++j)
        store_pair(y, first_row + lane() / 4 + half * 8, j * 8 + lane() % 4 * 2, sums[j][half * 2],
                   sums[j][half * 2 + 1]);
    }
  }

  /// Combines the partial results of all warps and stores them. Uses the shared memory of the tiles, which are no
  /// longer needed.
  DEVICE void store_together(char* shared, Scalar* y, int first_of_block) {
    constexpr int columns = Shape::size + 4; // floats from one row to the next, padded against bank conflicts
    auto* const largest = reinterpret_cast<float*>(shared);
    float* const parts = largest + 2 * Shape::warps * 16;
    const int warp = thread_index() / 32;
    barrier();
#pragma unroll
    for (int half = 0; half < 2; ++half)
      if (lane() % 4 == 0) {
        largest[warp * 16 + lane() / 4 + half * 8] = most[half];
        largest[(Shape::warps + warp) * 16 + lane() / 4 + half * 8] = total[half];
      }
    barrier();
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = lane() / 4 + half * 8;
      float all = -infinity, sum = 0;
      for (int other = 0; other < Shape::key_warps; ++other)
        all = at_least(all, largest[(row_warp() * Shape::key_warps + other) * 16 + row]);
      const float base = all == -infinity ? 0.0F : all;
      for (int other = 0; other < Shape::key_warps; ++other) {
        const int at = (row_warp() * Shape::key_warps + other) * 16 + row;
        sum = multiply_add(largest[Shape::warps * 16 + at], power_of_two(largest[at] - base), sum);
      }
      scale_sums(half, power_of_two(most[half] - base) * one_over(sum));
#pragma unroll
      for (int j = 0; j < wide; ++j)
#pragma unroll
        for (int i = 0; i < 2; ++i)
          parts[(warp * 16 + row) * columns + j * 8 + lane() % 4 * 2 + i] = sums[j][half * 2 + i];
    }
    barrier();
#pragma unroll 2
    for (int i = thread_index(); i < Shape::rows * Shape::size / 2; i += Shape::warps * 32) {
      const int row = i * 2 / Shape::size, column = i * 2 % Shape::size;
      const float* part = parts + (row / 16 * Shape::key_warps * 16 + row % 16) * columns + column;
      float sum[2] = {};
#pragma unroll
      for (int other = 0; other < Shape::key_warps; ++other)
#pragma unroll
        for (int j = 0; j < 2; ++j) sum[j] += part[other * 16 * columns + j];
      store_pair(y, first_of_block + row, column, sum[0], sum[1]);
    }
  }
};

template <class Math, int head_size, int key_warps> DEVICE void attend(const AttentionArguments& p) {
  using Shape = AttentionShape<Math, head_size, key_warps>;
  using Tile = AttentionTile<Math, Shape>;
  using Scalar = typename Math::Scalar;
  let_next_start();
  wait_for_previous();
  char* shared = dynamic_shared();
  const unsigned batch = static_cast<unsigned>(block_y());
  const Scalar* q = static_cast<const Scalar*>(p.q) + offset_of(p.q_batch, batch);
  const Scalar* mask = p.mask ? static_cast<const Scalar*>(p.mask) + offset_of(p.mask_batch, batch) : nullptr;
  Scalar* y = static_cast<Scalar*>(p.y) + offset_of(p.y_batch, batch);
  const int first_of_block = block_x() * Shape::rows;
  const int first_row = first_of_block + Tile::row_warp() * 16;
  const SharedAddress queries = shared_address(shared);
  Tile tile{p, queries, queries + Shape::rows * Shape::row,
            static_cast<const Scalar*>(p.k) + offset_of(p.k_batch, batch),
            static_cast<const Scalar*>(p.v) + offset_of(p.v_batch, batch)};
  Tile::copy_rows(queries, q, p.q_row, first_of_block, Shape::rows, p.m, p.d);
  tile.copy_tile(0);
  commit_copies();
  const int tiles = (p.n + Shape::keys - 1) / Shape::keys;
#pragma unroll 1
  for (int i = 0; i < tiles; ++i) {
    if (i + 1 < tiles) tile.copy_tile(i + 1);
    commit_copies();
    await_copies<1>();
    barrier();
    const int own = Tile::key_warp() * Shape::own_keys;
    const char* stage = shared + Shape::rows * Shape::row + i % 2 * Shape::stage;
    float scores[Tile::groups][4] = {};
    tile.score(scores, shared_address(stage + own * Shape::row));
    tile.finish_scores(scores, mask, first_row, i * Shape::keys + own);
    tile.add_scores(scores);
    tile.add_values(scores, stage + (Shape::keys + own) * Shape::row);
    barrier();
  }
  tile.finish_totals();
  if constexpr (key_warps == 1) tile.store_alone(y, first_row);
  else tile.store_together(shared, y, first_of_block);
}

#else

struct AttentionTf32 {};
struct AttentionTf32x3 {};
struct AttentionHalf {};
template <class Math, int head_size, int key_warps> DEVICE void attend(const AttentionArguments&) {}

#endif

} // namespace rtexec::tasks::cuda

#define ATTENTION(name, Math, size, key_warps) \
  KERNEL(attention_##name##_##size##_##key_warps, 128, AttentionArguments) { attend<Math, size, key_warps>(arguments); }
#define ATTENTIONS(name, Math)    \
  namespace rtexec::tasks::cuda { \
  ATTENTION(name, Math, 32, 1)    \
  ATTENTION(name, Math, 32, 2)    \
  ATTENTION(name, Math, 32, 4)    \
  ATTENTION(name, Math, 64, 1)    \
  ATTENTION(name, Math, 64, 2)    \
  ATTENTION(name, Math, 64, 4)    \
  ATTENTION(name, Math, 128, 1)   \
  ATTENTION(name, Math, 128, 2)   \
  ATTENTION(name, Math, 128, 4)   \
  }
