#include "tasks/engine/host/kernels/tiles.hpp"

#include "tasks/engine/host/kernels/transpose.hpp"
#include "tasks/engine/host/kernels/vector.hpp"

#include <array>
#include <cstddef>
#include <cstring>

namespace rtexec::tasks::kernels {
namespace {

using MultiplyTile = void (*)(const TileFactors&, std::int64_t, std::int64_t, float*, std::int64_t) noexcept;

/// A kernel that computes a tile, and the shape of its tile.
struct TileKernel {
  TileShape shape;
  MultiplyTile multiply;
};

template <std::size_t floats> struct Register {
  typedef float Type __attribute__((vector_size(floats * sizeof(float))));
};

/// Copies rows between a matrix narrower than a tile and a buffer whose rows are whole registers.
void copy_lines(float* to, std::int64_t pitch_to, const float* from, std::int64_t pitch_from, std::int64_t columns,
                std::size_t rows) {
  for (; rows > 0; --rows, to += pitch_to, from += pitch_from)
    std::memcpy(to, from, static_cast<std::size_t>(columns) * sizeof(float));
}

// These loops index registers. They must be unrolled, because the compiler would otherwise keep the arrays in memory.
/// Initialises the sums with biases and the residual.
template <class R, std::size_t across, std::size_t rows>
RTEXEC_INLINE void begin_tile(R (&sums)[rows][across], const TileEnd& end, std::int64_t columns,
                              std::int64_t leading_c) {
  constexpr std::size_t floats = sizeof(R) / sizeof(float), width = across * floats;
  R bias[across] = {};
  if (end.column_bias) {
    float line[width] = {};
    std::memcpy(line, end.column_bias, static_cast<std::size_t>(columns) * sizeof(float));
    for (std::size_t j = 0; j < across; ++j) std::memcpy(&bias[j], line + j * floats, sizeof(R));
  }
#pragma GCC unroll 16
  for (std::size_t i = 0; i < rows; ++i)
#pragma GCC unroll 4
    for (std::size_t j = 0; j < across; ++j) sums[i][j] = end.row_bias ? bias[j] + end.row_bias[i] : bias[j];
  if (!end.residual) return;
  float room[rows * width];
  const bool whole = columns == static_cast<std::int64_t>(width);
  if (!whole) copy_lines(room, width, end.residual, leading_c, columns, rows);
  const float* from = whole ? end.residual : room;
#pragma GCC unroll 16
  for (std::size_t i = 0; i < rows; ++i, from += whole ? leading_c : static_cast<std::int64_t>(width))
#pragma GCC unroll 4
    for (std::size_t j = 0; j < across; ++j) {
      R residual;
      std::memcpy(&residual, from + j * floats, sizeof residual);
      sums[i][j] += residual;
    }
}

/// Stores the sums, multiplied by alpha and clamped to the bounds.
template <class R, std::size_t across, std::size_t rows>
RTEXEC_INLINE void store_tile(const R (&sums)[rows][across], const TileFactors& f, std::int64_t columns, float* c,
                              std::int64_t leading_c) {
  constexpr std::size_t floats = sizeof(R) / sizeof(float), width = across * floats;
  const auto bounds = f.end ? f.end->bounds : Bounds{};
  const R low = R{} + bounds.low, high = R{} + bounds.high;
  float room[rows * width];
  const bool whole = columns == static_cast<std::int64_t>(width);
  float* to = whole ? c : room;
#pragma GCC unroll 16
  for (std::size_t i = 0; i < rows; ++i, to += whole ? leading_c : static_cast<std::int64_t>(width))
#pragma GCC unroll 4
    for (std::size_t j = 0; j < across; ++j) {
      R sum = sums[i][j] * f.alpha;
      sum = sum < low ? low : sum;
      sum = sum > high ? high : sum;
      std::memcpy(to + j * floats, &sum, sizeof sum);
    }
  if (!whole) copy_lines(c, leading_c, room, width, columns, rows);
}

/// Prefetches the memory of the result, so that it is in cache when the sums are complete.
template <std::size_t floats, std::size_t across, std::size_t rows>
RTEXEC_INLINE void fetch_result(const float* c, std::int64_t leading_c) {
#pragma GCC unroll 16
  for (std::size_t i = 0; i < rows; ++i, c += leading_c)
    for (std::size_t j = 0; j < across * floats; j += Ahead::line) __builtin_prefetch(c + j, 1);
}

/// Computes a tile of exactly `rows` rows, with `across` registers for each row.
template <std::size_t floats, std::size_t across, std::size_t rows>
RTEXEC_INLINE void multiply_exactly(const TileFactors& f, std::int64_t stride_b, std::int64_t columns, float* c,
                                    std::int64_t leading_c) {
  using R = typename Register<floats>::Type;
  // Small tiles split each sum into parts, because consecutive additions to one register would wait for each other.
  constexpr std::size_t parts = std::max<std::size_t>(1, 8 / (rows * across));
  R sums[parts][rows][across] = {};
  if (f.end) begin_tile(sums[0], *f.end, columns, leading_c);
  const float *a = f.a, *b = f.b, *ahead = f.ahead.first ? f.ahead.first : f.a;
  const auto ahead_step = f.ahead.first ? f.ahead.step : 0;
  fetch_result<floats, across, rows>(c, leading_c);
  const auto add = [&](R(&part)[rows][across]) __attribute__((always_inline)) {
    R x[across];
    for (std::size_t j = 0; j < across; ++j) std::memcpy(&x[j], b + j * floats, sizeof(R));
#pragma GCC unroll 16
    for (std::size_t i = 0; i < rows; ++i)
#pragma GCC unroll 4
      for (std::size_t j = 0; j < across; ++j) part[i][j] += x[j] * a[i];
    __builtin_prefetch(ahead, 0, 2);
    a += f.stride_a, b += stride_b, ahead += ahead_step;
  };
  std::int64_t p = 0;
  constexpr auto at_once = static_cast<std::int64_t>(parts);
  if constexpr (parts > 1)
    for (; p + at_once <= f.depth; p += at_once)
#pragma GCC unroll 8
      for (std::size_t part = 0; part < parts; ++part) add(sums[part]);
  for (; p < f.depth; ++p) add(sums[0]);
#pragma GCC unroll 8
  for (std::size_t part = 1; part < parts; ++part)
#pragma GCC unroll 8
    for (std::size_t i = 0; i < rows; ++i)
#pragma GCC unroll 4
      for (std::size_t j = 0; j < across; ++j) sums[0][i][j] += sums[part][i][j];
  store_tile(sums[0], f, columns, c, leading_c);
}

/// Computes a tile of `rows` rows. `rows` is at most `most`.
template <std::size_t floats, std::size_t across, std::size_t most>
RTEXEC_INLINE void multiply_rows(const TileFactors& f, std::int64_t stride_b, std::int64_t rows, std::int64_t columns,
                                 float* c, std::int64_t leading_c) {
  if constexpr (most > 1)
    if (rows < static_cast<std::int64_t>(most))
      return multiply_rows<floats, across, most - 1>(f, stride_b, rows, columns, c, leading_c);
  multiply_exactly<floats, across, most>(f, stride_b, columns, c, leading_c);
}

/// Computes a tile with only as many registers for each row as its columns need. Rows of b are `stride_b` apart.
template <std::size_t floats, std::size_t across, std::size_t most>
RTEXEC_INLINE void multiply_columns(const TileFactors& f, std::int64_t stride_b, std::int64_t rows,
                                    std::int64_t columns, float* c, std::int64_t leading_c) {
  constexpr auto narrower = static_cast<std::int64_t>((across - 1) * floats);
  if constexpr (across > 1)
    if (columns <= narrower)
      return multiply_columns<floats, across - 1, most>(f, stride_b, rows, columns, c, leading_c);
  multiply_rows<floats, across, most>(f, stride_b, rows, columns, c, leading_c);
}

/// Computes a tile. If the strips of b have the full tile width, the stride of b is a compile-time constant, which
/// helps the compiler.
template <std::size_t floats, std::size_t across, std::size_t most>
RTEXEC_INLINE void multiply(const TileFactors& f, std::int64_t rows, std::int64_t columns, float* c,
                            std::int64_t leading_c) {
  if (f.stride_b != 0) multiply_columns<floats, across, most>(f, f.stride_b, rows, columns, c, leading_c);
  else
    multiply_columns<floats, across, most>(f, static_cast<std::int64_t>(across * floats), rows, columns, c, leading_c);
}

// The shape of each kernel's tile is chosen so that the sums fill all registers that the operands do not need.
#if defined(__aarch64__)
void multiply_neon(const TileFactors& f, std::int64_t rows, std::int64_t columns, float* c,
                   std::int64_t leading_c) noexcept {
  multiply<4, 3, 8>(f, rows, columns, c, leading_c);
}
TileKernel choose_kernel() { return {{8, 12, 4}, multiply_neon}; }
#else
void multiply_plain(const TileFactors& f, std::int64_t rows, std::int64_t columns, float* c,
                    std::int64_t leading_c) noexcept {
  multiply<4, 2, 6>(f, rows, columns, c, leading_c);
}
#if defined(__x86_64__)
RTEXEC_TARGET("arch=x86-64-v3")
void multiply_avx2(const TileFactors& f, std::int64_t rows, std::int64_t columns, float* c,
                   std::int64_t leading_c) noexcept {
  multiply<8, 2, 6>(f, rows, columns, c, leading_c);
}
RTEXEC_TARGET("arch=x86-64-v4")
void multiply_avx512(const TileFactors& f, std::int64_t rows, std::int64_t columns, float* c,
                     std::int64_t leading_c) noexcept {
  multiply<16, 2, 14>(f, rows, columns, c, leading_c);
}
#endif
TileKernel choose_kernel() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512bw"))
    return {{14, 32, 16}, multiply_avx512};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return {{6, 16, 8}, multiply_avx2};
#endif
  return {{6, 8, 4}, multiply_plain};
}
#endif

/// Packs one row of a strip, and pads it with zeros.
RTEXEC_INLINE void pack_line(float* to, std::int64_t width, const float* from, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    Vector piece;
    load(piece, from + i);
    store(to + i, piece);
  }
  for (; i < count; ++i) to[i] = from[i];
  for (; i < width; ++i) to[i] = 0;
}

/// Copies rows that are narrower than a vector as whole vectors, as long as the excess is inside both buffers. The next
/// row overwrites the excess.
RTEXEC_VECTORISED void pack_rows(float* to, std::int64_t width, const float* from, std::int64_t count,
                                 std::int64_t depth, std::int64_t pitch) noexcept {
  std::int64_t p = 0;
  if (count == width && width < lanes)
    for (; p * width + lanes <= depth * width && p * pitch + lanes <= (depth - 1) * pitch + count; ++p) {
      Vector line;
      load(line, from + p * pitch);
      store(to + p * width, line);
    }
  for (; p < depth; ++p) pack_line(to + p * width, width, from + p * pitch, count);
}

const TileKernel& kernel() noexcept {
  static const TileKernel chosen = choose_kernel();
  return chosen;
}

} // namespace

const TileShape& tile_shape() noexcept { return kernel().shape; }

void multiply_tile(const TileFactors& factors, std::int64_t rows, std::int64_t columns, float* c,
                   std::int64_t leading_c) noexcept {
  kernel().multiply(factors, rows, columns, c, leading_c);
}

void pack_strip(float* to, std::int64_t width, const float* from, std::int64_t count, std::int64_t step,
                std::int64_t depth, std::int64_t pitch) noexcept {
  if (step == 1) return pack_rows(to, width, from, count, depth, pitch);
  transpose(to, width, from, step, count, depth);
  if (count < width)
    for (std::int64_t p = 0; p < depth; ++p) std::fill(to + p * width + count, to + (p + 1) * width, 0.0F);
}

RTEXEC_VECTORISED void split(float* to, std::int64_t width, std::int64_t pitch, const float* from,
                             std::int64_t n) noexcept {
  for (; n > 0; n -= width, from += width, to += pitch) pack_line(to, width, from, std::min(width, n));
}

} // namespace rtexec::tasks::kernels
