// The innermost part of a matrix product. It computes one tile of the result, whose sums stay in registers until all
// terms are added. Operands are packed into strips that are as wide as a tile, in the order in which tiles read them.
#pragma once

#include "tasks/engine/host/kernels/bounds.hpp"

#include <algorithm>
#include <cstdint>

namespace rtexec::tasks::kernels {

struct TileShape {
  std::int64_t rows, columns;
  std::int64_t step; // number of floats in a register; the number of computed columns is rounded up to a multiple of it
};

/// Returns the largest tile whose sums fit into the registers of this processor.
[[nodiscard]] const TileShape& tile_shape() noexcept;

/// The epilogue of a tile: initial values of its sums, and the bounds of its results. An epilogue requires alpha = 1.
struct TileEnd {
  const float* row_bias = nullptr;    // a value for each row, or null
  const float* column_bias = nullptr; // a value for each column, or null
  const float* residual = nullptr;    // a value for each element, with the row stride of the result, or null
  Bounds bounds;
};

/// A prefetch into the level 2 cache. For each term of its sums, a tile fetches one cache line of the data that is
/// needed next.
struct Ahead {
  static constexpr std::int64_t line = 16; // floats
  const float* first = nullptr;            // null: nothing to fetch
  std::int64_t step = line;
};

/// The strip that is needed next. Each tile of the current strip prefetches a part of it.
class NextStrip {
 public:
  NextStrip(const float* strip, std::int64_t floats) : next_(strip), end_(strip + floats) {}

  /// Returns the part that a tile with `depth` terms prefetches.
  [[nodiscard]] Ahead take(std::int64_t depth) noexcept {
    const Ahead part{next_ < end_ ? next_ : nullptr};
    next_ += Ahead::line * depth;
    return part;
  }

 private:
  const float *next_, *end_;
};

/// The operands of a tile. Each result is alpha times the sum over p < depth of a[p * stride_a + row] * b[p * stride_b
/// + column].
struct TileFactors {
  std::int64_t depth;
  const float* a;
  std::int64_t stride_a;
  const float* b;
  float alpha = 1;
  const TileEnd* end = nullptr; // the epilogue, or null
  std::int64_t stride_b = 0;    // distance between rows of b; 0: the number of columns of a tile
  Ahead ahead{};
};

/// Computes a tile and writes its first `rows` rows and `columns` columns to c[row * leading_c + column]. Always reads
/// the elements of b for all columns of a tile.
void multiply_tile(const TileFactors& factors, std::int64_t rows, std::int64_t columns, float* c,
                   std::int64_t leading_c) noexcept;

/// Packs a strip: to[p * width + i] = from[i * step + p * pitch] for p < depth and i < count. Pads each row with zeros
/// to `width`. Either step or pitch must be 1.
void pack_strip(float* to, std::int64_t width, const float* from, std::int64_t count, std::int64_t step,
                std::int64_t depth, std::int64_t pitch) noexcept;

/// Divides a line into strips: to[i / width * pitch + i % width] = from[i] for i < n. Pads the last strip with zeros.
void split(float* to, std::int64_t width, std::int64_t pitch, const float* from, std::int64_t n) noexcept;

/// Returns the length of the blocks if `total` is divided into equal blocks of at most `most`. Returns at least 1.
[[nodiscard]] constexpr std::int64_t balanced_block(std::int64_t total, std::int64_t most) {
  const auto blocks = most < 1 ? total : (total + most - 1) / most;
  return (total + blocks - 1) / blocks;
}

[[nodiscard]] constexpr std::int64_t rounded_up(std::int64_t n, std::int64_t unit) {
  return (n + unit - 1) / unit * unit;
}

} // namespace rtexec::tasks::kernels
