#include "tasks/dnn/kernels/gemm.hpp"

#include "tasks/dnn/kernels/vector.hpp"

#include <cblas.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <vector>

// OpenBLAS exports what chooses its kernels, but declares it nowhere.
extern "C" {
void gotoblas_dynamic_init();
void gotoblas_dynamic_quit();
}

namespace rtexec::tasks::kernels {
namespace {

#if defined(__x86_64__)
/// OpenBLAS knows processors by their model number, and takes one that is newer than itself for a Pentium 4 (seen with
/// 0.3.21 on Emerald Rapids: 37 GFLOP/s instead of 170). What the processor says that it can do is the better witness.
void correct_kernels() {
  constexpr const char* variable = "OPENBLAS_CORETYPE";
  if (std::getenv(variable) || std::strcmp(openblas_get_corename(), "Prescott") != 0) return;
  const char* core = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                             __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw")
                         ? "SkylakeX"
                     : __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? "Haswell"
                                                                                       : nullptr;
  if (!core) return;
  setenv(variable, core, 0);
  gotoblas_dynamic_quit();
  gotoblas_dynamic_init();
  unsetenv(variable);
}
#else
void correct_kernels() {}
#endif

/// Larger than the blocks that OpenBLAS cuts operands into, so that its whole work buffer is touched.
void touch_work_buffer() {
  constexpr std::int64_t n = 1024;
  std::vector<float> a(n * n, 0.0F), c(n * n);
  multiply(n, n, n, 1.0F, {a.data(), n}, {a.data(), n}, c.data(), n);
}

// OpenBLAS's kernels for small matrices allocate on the heap (0.3.21, SkylakeX, up to 100 x 100 x 100): these products
// are ours.
constexpr std::int64_t small_product = 1'000'000;

constexpr std::int64_t block_columns = 2 * lanes;

/// `rows` rows of c, block_columns of it, or `columns` where there are fewer.
template <std::size_t rows>
RTEXEC_INLINE void small_block(std::int64_t k, const float* a, std::int64_t row_a, std::int64_t column_a,
                               const float* b, std::int64_t leading_b, float alpha, float* c, std::int64_t leading_c,
                               std::int64_t columns) {
  if (columns == block_columns) {
    Vector low[rows] = {}, high[rows] = {};
    for (std::int64_t p = 0; p < k; ++p) {
      Vector x, y;
      load(x, b + p * leading_b);
      load(y, b + p * leading_b + lanes);
      for (std::size_t i = 0; i < rows; ++i) {
        const float factor = a[static_cast<std::int64_t>(i) * row_a + p * column_a];
        low[i] += x * factor;
        high[i] += y * factor;
      }
    }
    for (std::size_t i = 0; i < rows; ++i, c += leading_c) {
      store(c, low[i] * alpha);
      store(c + lanes, high[i] * alpha);
    }
    return;
  }
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(rows); ++i) {
    float sums[block_columns] = {};
    for (std::int64_t p = 0; p < k; ++p)
      for (std::int64_t j = 0; j < columns; ++j) sums[j] += a[i * row_a + p * column_a] * b[p * leading_b + j];
    for (std::int64_t j = 0; j < columns; ++j) c[i * leading_c + j] = sums[j] * alpha;
  }
}

RTEXEC_VECTORISED void multiply_small(std::int64_t m, std::int64_t n, std::int64_t k, float alpha, const Matrix& a,
                                      const float* b, std::int64_t leading_b, float* c,
                                      std::int64_t leading_c) noexcept {
  const auto row_a = a.transposed ? 1 : a.leading, column_a = a.transposed ? a.leading : 1;
  for (std::int64_t j = 0; j < n; j += block_columns) {
    const auto columns = std::min(block_columns, n - j);
    std::int64_t i = 0;
    for (; i + 4 <= m; i += 4)
      small_block<4>(k, a.data + i * row_a, row_a, column_a, b + j, leading_b, alpha, c + i * leading_c + j, leading_c,
                     columns);
    for (; i < m; ++i)
      small_block<1>(k, a.data + i * row_a, row_a, column_a, b + j, leading_b, alpha, c + i * leading_c + j, leading_c,
                     columns);
  }
}

/// The same with b transposed: dot products of its rows.
RTEXEC_VECTORISED void multiply_small_transposed(std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
                                                 const Matrix& a, const Matrix& b, float* c,
                                                 std::int64_t leading_c) noexcept {
  const auto row_a = a.transposed ? 1 : a.leading, column_a = a.transposed ? a.leading : 1;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      float sums[lanes] = {}, sum = 0;
      std::int64_t p = 0;
      for (; p + lanes <= k; p += lanes)
        for (std::int64_t lane = 0; lane < lanes; ++lane)
          sums[lane] += a.data[i * row_a + (p + lane) * column_a] * b.data[j * b.leading + p + lane];
      for (; p < k; ++p) sum += a.data[i * row_a + p * column_a] * b.data[j * b.leading + p];
      for (const auto part : sums) sum += part;
      c[i * leading_c + j] = alpha * sum;
    }
}

} // namespace

void multiply(std::int64_t m, std::int64_t n, std::int64_t k, float alpha, Matrix a, Matrix b, float* c,
              std::int64_t leading_c) noexcept {
  // Tensors have at most 2^28 elements
  const auto blas = [](std::int64_t v) { return static_cast<blasint>(v); };
  const auto trans = [](const Matrix& x) { return x.transposed ? CblasTrans : CblasNoTrans; };
  if (m == 1 && !a.transposed) {
    cblas_sgemv(CblasRowMajor, b.transposed ? CblasNoTrans : CblasTrans, blas(b.transposed ? n : k),
                blas(b.transposed ? k : n), alpha, b.data, blas(b.leading), a.data, 1, 0, c, 1);
    return;
  }
  if (static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) <= small_product) {
    if (b.transposed) multiply_small_transposed(m, n, k, alpha, a, b, c, leading_c);
    else multiply_small(m, n, k, alpha, a, b.data, b.leading, c, leading_c);
    return;
  }
  cblas_sgemm(CblasRowMajor, trans(a), trans(b), blas(m), blas(n), blas(k), alpha, a.data, blas(a.leading), b.data,
              blas(b.leading), 0, c, blas(leading_c));
}

void prepare_gemm() {
  static std::once_flag once;
  std::call_once(once, [] {
    correct_kernels();
    touch_work_buffer();
  });
}

} // namespace rtexec::tasks::kernels
