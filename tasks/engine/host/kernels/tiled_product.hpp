// A matrix product in tiles. Its operands are packed into strips, in blocks that fit into the caches.
#pragma once

#include "tasks/engine/host/kernels/tiles.hpp"

#include <algorithm>
#include <cstdint>

namespace rtexec::tasks::kernels {

/// The product y = alpha * op(a) * op(b), with y [m, n] and k terms in each sum. All matrices are dense.
struct MatMulShape {
  std::int64_t m, n, k;
  bool transpose_a = false, transpose_b = false;
  float alpha = 1;
};

class TiledProduct {
 public:
  explicit TiledProduct(const MatMulShape& shape)
      : s_(shape),
        strip_rows_(balanced_block(s_.m, tile_shape().rows)),
        strip_columns_(std::min(tile_shape().columns, s_.n)) {
    block_rows_ = std::max<std::int64_t>(1, block_floats / (s_.k * strip_rows_)) * strip_rows_;
    block_rows_ = std::min(block_rows_, rounded_up(s_.m, strip_rows_));
  }

  /// Returns the number of floats that pack_b() writes, plus slack. If b is narrower than a tile, its strips have the
  /// width of b. A tile reads its full width from each row of a strip, and so reads beyond the last row into the slack.
  [[nodiscard]] std::int64_t packed_b() const {
    return rounded_up(s_.n, strip_columns_) * s_.k + tile_shape().columns - strip_columns_;
  }
  void pack_b(float* to, const float* b) const noexcept {
    const auto [step, pitch] = s_.transpose_b ? std::pair(s_.k, std::int64_t{1}) : std::pair(std::int64_t{1}, s_.n);
    for (std::int64_t column = 0; column < s_.n; column += strip_columns_)
      pack_strip(to + column * s_.k, strip_columns_, b + column * step, std::min(strip_columns_, s_.n - column), step,
                 s_.k, pitch);
  }

  /// Returns the number of floats of workspace that run() needs for strips of the operand `a`.
  [[nodiscard]] std::int64_t workspace() const { return block_rows_ * s_.k; }

  /// Computes y. Calls `done(row, rows)` when `rows` rows of y, beginning with `row`, are complete. `end` is the
  /// epilogue of all of y, and must have no row bias.
  template <class Done>
  void run(const float* a, const float* packed_b, float* y, float* workspace, Done done,
           const TileEnd& end = {}) const noexcept {
    for (std::int64_t row = 0; row < s_.m; row += block_rows_) {
      const auto rows = std::min(block_rows_, s_.m - row);
      pack_a(workspace, a, row, rows);
      multiply_block(workspace, packed_b, y + row * s_.n, rows, end, row);
      done(row, rows);
    }
  }

 private:
  static constexpr std::int64_t block_floats = 64 * 1024; // size of a block of a: a quarter of a common level 2 cache

  void pack_a(float* to, const float* a, std::int64_t first, std::int64_t rows) const noexcept {
    const auto [step, pitch] = s_.transpose_a ? std::pair(std::int64_t{1}, s_.m) : std::pair(s_.k, std::int64_t{1});
    for (std::int64_t row = 0; row < rows; row += strip_rows_)
      pack_strip(to + row * s_.k, strip_rows_, a + (first + row) * step, std::min(strip_rows_, rows - row), step, s_.k,
                 pitch);
  }

  void multiply_block(const float* a, const float* b, float* y, std::int64_t rows, const TileEnd& end,
                      std::int64_t first) const noexcept {
    TileEnd of_tile = end;
    const auto stride_b = strip_columns_ == tile_shape().columns ? 0 : strip_columns_;
    for (std::int64_t column = 0; column < s_.n; column += strip_columns_) {
      if (end.column_bias) of_tile.column_bias = end.column_bias + column;
      const float* strip = b + column * s_.k;
      NextStrip next(strip + strip_columns_ * s_.k, strip_columns_ * s_.k);
      for (std::int64_t row = 0; row < rows; row += strip_rows_) {
        if (end.residual) of_tile.residual = end.residual + (first + row) * s_.n + column;
        multiply_tile({s_.k, a + row * s_.k, strip_rows_, strip, s_.alpha, &of_tile, stride_b, next.take(s_.k)},
                      std::min(strip_rows_, rows - row), std::min(strip_columns_, s_.n - column),
                      y + row * s_.n + column, s_.n);
      }
    }
  }

  MatMulShape s_;
  std::int64_t strip_rows_, strip_columns_;
  std::int64_t block_rows_; // rows of a in one block
};

} // namespace rtexec::tasks::kernels
