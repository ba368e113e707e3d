// The innermost part of a matrix product: one tile of the result, which stays in registers while all its factors pass.
// Factors are packed beforehand into strips, which are as wide as a tile and lie in memory as they are read.
#pragma once

#include "tasks/engine/host/kernels/bounds.hpp"

#include <algorithm>
#include <cstdint>

namespace rtexec::tasks::kernels {

struct TileShape {
  std::int64_t rows, columns;
  std::int64_t step; // of the columns: a register's floats, which take as long as one
};

/// The largest tile that this processor's registers hold.
[[nodiscard]] const TileShape& tile_shape() noexcept;

/// What a tile's sums begin with, and the bounds within which they are stored. Where alpha is 1.
struct TileEnd {
  const float* row_bias = nullptr;    // where there are such, one for each row
  const float* column_bias = nullptr; // for each column
  const float* residual = nullptr;    // for each element, as far from row to row as of the result
  Bounds bounds;
};

/// A tile fetches a line of cache for each p into the second-level cache, so that what is read next is there by then.
struct Ahead {
  static constexpr std::int64_t line = 16; // floats
  const float* first = nullptr;            // where there is anything to fetch
  std::int64_t step = line;
};

/// A strip that is read after several tiles, which fetch it one after the other.
class NextStrip {
 public:
  NextStrip(const float* strip, std::int64_t floats) : next_(strip), end_(strip + floats) {}

  /// For a tile of this depth.
  [[nodiscard]] Ahead take(std::int64_t depth) noexcept {
    const Ahead part{next_ < end_ ? next_ : nullptr};
    next_ += Ahead::line * depth;
    return part;
  }

 private:
  const float *next_, *end_;
};

/// What a tile is made of: alpha times the sum over p < depth of a[p * stride_a + row] * b[p * tile columns + column].
struct TileFactors {
  std::int64_t depth;
  const float* a;
  std::int64_t stride_a;
  const float* b;
  float alpha = 1;
  const TileEnd* end = nullptr; // where there is one
  std::int64_t stride_b = 0;    // from row to row of b, where that is not the tile's columns
  Ahead ahead{};
};

/// c[row * leading_c + column], for as many rows and columns as a tile has, or fewer; all columns of b are read.
void multiply_tile(const TileFactors& factors, std::int64_t rows, std::int64_t columns, float* c,
                   std::int64_t leading_c) noexcept;

/// A strip: to[p * width + i] = from[i * step + p * pitch] for p < depth and i < count, and zero up to `width`; one of
/// step and pitch is 1.
void pack_strip(float* to, std::int64_t width, const float* from, std::int64_t count, std::int64_t step,
                std::int64_t depth, std::int64_t pitch) noexcept;

/// Cuts a line into strips: to[i / width * pitch + i % width] = from[i] for i < n, and zero up to a whole strip.
void split(float* to, std::int64_t width, std::int64_t pitch, const float* from, std::int64_t n) noexcept;

/// The length of equal blocks, none longer than `most`, that divide `total`; at least 1.
[[nodiscard]] constexpr std::int64_t balanced_block(std::int64_t total, std::int64_t most) {
  const auto blocks = most < 1 ? total : (total + most - 1) / most;
  return (total + blocks - 1) / blocks;
}

[[nodiscard]] constexpr std::int64_t rounded_up(std::int64_t n, std::int64_t unit) {
  return (n + unit - 1) / unit * unit;
}

} // namespace rtexec::tasks::kernels
