#include "tasks/engine/host/kernels/transpose.hpp"

#include "tasks/base/vectorised.hpp"

#include <algorithm>
#include <cstring>

namespace rtexec::tasks::kernels {
namespace {

using Four = float __attribute__((vector_size(16)));

constexpr std::int64_t side = 4;
// The size of a block. The transposition writes whole cache lines, but only a few lines at a time: lines at distances
// of powers of two would evict each other from the cache.
constexpr std::int64_t block_rows = 16, block_columns = 8;

RTEXEC_INLINE void transpose_square(float* to, std::int64_t pitch_to, const float* from, std::int64_t pitch_from) {
  Four a, b, c, d;
  std::memcpy(&a, from, sizeof a);
  std::memcpy(&b, from + pitch_from, sizeof b);
  std::memcpy(&c, from + 2 * pitch_from, sizeof c);
  std::memcpy(&d, from + 3 * pitch_from, sizeof d);
  const Four ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5), ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7),
             cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5), cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  a = __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5);
  b = __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7);
  c = __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5);
  d = __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7);
  std::memcpy(to, &a, sizeof a);
  std::memcpy(to + pitch_to, &b, sizeof b);
  std::memcpy(to + 2 * pitch_to, &c, sizeof c);
  std::memcpy(to + 3 * pitch_to, &d, sizeof d);
}

/// Transposes a matrix of two rows and four columns.
RTEXEC_INLINE void transpose_pair(float* to, std::int64_t pitch_to, const float* from, std::int64_t pitch_from) {
  Four a, b;
  std::memcpy(&a, from, sizeof a);
  std::memcpy(&b, from + pitch_from, sizeof b);
  const Four pairs[2] = {__builtin_shufflevector(a, b, 0, 4, 1, 5), __builtin_shufflevector(a, b, 2, 6, 3, 7)};
  const auto* pair = reinterpret_cast<const float*>(pairs);
  for (std::int64_t i = 0; i < side; ++i) std::memcpy(to + i * pitch_to, pair + 2 * i, 2 * sizeof(float));
}

RTEXEC_INLINE void transpose_block(float* to, std::int64_t pitch_to, const float* from, std::int64_t pitch_from,
                                   std::int64_t rows, std::int64_t columns) {
  std::int64_t column = 0;
  for (; column + side <= columns; column += side) {
    std::int64_t row = 0;
    for (; row + side <= rows; row += side)
      transpose_square(to + column * pitch_to + row, pitch_to, from + row * pitch_from + column, pitch_from);
    for (; row + 2 <= rows; row += 2)
      transpose_pair(to + column * pitch_to + row, pitch_to, from + row * pitch_from + column, pitch_from);
    for (; row < rows; ++row)
      for (std::int64_t i = column; i < column + side; ++i) to[i * pitch_to + row] = from[row * pitch_from + i];
  }
  for (; column < columns; ++column)
    for (std::int64_t row = 0; row < rows; ++row) to[column * pitch_to + row] = from[row * pitch_from + column];
}

} // namespace

RTEXEC_VECTORISED void transpose(float* to, std::int64_t pitch_to, const float* from, std::int64_t pitch_from,
                                 std::int64_t rows, std::int64_t columns) noexcept {
  const std::int64_t width = rows <= side ? columns : block_columns;
  for (std::int64_t row = 0; row < rows; row += block_rows)
    for (std::int64_t column = 0; column < columns; column += width)
      transpose_block(to + column * pitch_to + row, pitch_to, from + row * pitch_from + column, pitch_from,
                      std::min(block_rows, rows - row), std::min(width, columns - column));
}

} // namespace rtexec::tasks::kernels
