// Matrix products through OpenBLAS.
#pragma once

#include <cstdint>

namespace rtexec::tasks::kernels {

/// A row-major matrix, or the transpose of one.
struct Matrix {
  const float* data;
  std::int64_t leading; // elements from one stored row to the next
  bool transposed = false;
};

/// c = alpha * a * b, for c [m,n] and a depth of k. After prepare_gemm(): no allocation, no system call. OpenBLAS
/// guards its pool of work buffers by a lock that is held for a few instructions only.
void multiply(std::int64_t m, std::int64_t n, std::int64_t k, float alpha, Matrix a, Matrix b, float* c,
              std::int64_t leading_c) noexcept;

/// Once in a process, whoever comes first: makes OpenBLAS choose the kernels of this processor, and allocates and
/// touches its work buffer. Not while another thread is inside OpenBLAS.
void prepare_gemm();

} // namespace rtexec::tasks::kernels
