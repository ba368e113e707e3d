#include "tasks/dnn/kernels/tiles.hpp"

#include "tasks/dnn/kernels/transpose.hpp"
#include "tasks/dnn/kernels/vector.hpp"

#include <array>
#include <cstddef>
#include <cstring>

namespace rtexec::tasks::kernels {
namespace {

using MultiplyTile = void (*)(const TileFactors&, std::int64_t, std::int64_t, float*, std::int64_t) noexcept;

/// What a processor computes tiles with.
struct TileKernel {
  TileShape shape;
  MultiplyTile multiply;
};

template <std::size_t floats> struct Register {
  typedef float Type __attribute__((vector_size(floats * sizeof(float))));
};

/// A tile of this many rows and registers across.
template <std::size_t floats, std::size_t across, std::size_t rows>
RTEXEC_INLINE void multiply_exactly(const TileFactors& f, std::int64_t stride_b, std::int64_t columns, float* c,
                                    std::int64_t leading_c) {
  using R = typename Register<floats>::Type;
  R sums[rows][across] = {};
  const float *a = f.a, *b = f.b;
  for (std::int64_t p = 0; p < f.depth; ++p, a += f.stride_a, b += stride_b) {
    R x[across];
    for (std::size_t j = 0; j < across; ++j) std::memcpy(&x[j], b + j * floats, sizeof(R));
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < across; ++j) sums[i][j] += x[j] * a[i];
  }
  constexpr std::size_t width = across * floats;
  const bool whole = columns == static_cast<std::int64_t>(width);
  for (std::size_t i = 0; i < rows; ++i, c += leading_c) {
    float line[width];
    float* const to = whole ? c : line;
    for (std::size_t j = 0; j < across; ++j) {
      const R sum = sums[i][j] * f.alpha;
      std::memcpy(to + j * floats, &sum, sizeof sum);
    }
    if (!whole) std::memcpy(c, line, static_cast<std::size_t>(columns) * sizeof(float));
  }
}

/// Of as many rows as are asked for, `most` at most.
template <std::size_t floats, std::size_t across, std::size_t most>
RTEXEC_INLINE void multiply_rows(const TileFactors& f, std::int64_t stride_b, std::int64_t rows, std::int64_t columns,
                                 float* c, std::int64_t leading_c) {
  if constexpr (most > 1)
    if (rows < static_cast<std::int64_t>(most))
      return multiply_rows<floats, across, most - 1>(f, stride_b, rows, columns, c, leading_c);
  multiply_exactly<floats, across, most>(f, stride_b, columns, c, leading_c);
}

template <std::size_t floats, std::size_t across, std::size_t most>
RTEXEC_INLINE void multiply(const TileFactors& f, std::int64_t rows, std::int64_t columns, float* c,
                            std::int64_t leading_c) {
  constexpr auto stride_b = static_cast<std::int64_t>(across * floats);
  if constexpr (across > 1)
    if (columns <= stride_b - static_cast<std::int64_t>(floats)) {
      if constexpr (across > 2)
        if (columns > static_cast<std::int64_t>(floats))
          return multiply_rows<floats, across - 1, most>(f, stride_b, rows, columns, c, leading_c);
      return multiply_rows<floats, 1, most>(f, stride_b, rows, columns, c, leading_c);
    }
  multiply_rows<floats, across, most>(f, stride_b, rows, columns, c, leading_c);
}

// Each as many sums as there are registers, but for those that factors pass through.
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

/// A line of a strip.
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

RTEXEC_VECTORISED void pack_rows(float* to, std::int64_t width, const float* from, std::int64_t count,
                                 std::int64_t depth, std::int64_t pitch) noexcept {
  for (std::int64_t p = 0; p < depth; ++p) pack_line(to + p * width, width, from + p * pitch, count);
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
