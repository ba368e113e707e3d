// Eliminates one column by Gaussian elimination: first the factors of the rows, then the rows.
#include "tasks/loads/benchmarks/cuda/benchmark.cuh"

namespace rtexec::tasks::cuda {

KERNEL(benchmark_factors, benchmark_threads, GaussianArguments) {
  wait_for_previous();
  const unsigned n = arguments.side, row = arguments.pivot + 1 + item();
  if (row < n)
    arguments.factors[row] =
        arguments.matrix[row * n + arguments.pivot] / arguments.matrix[arguments.pivot * n + arguments.pivot];
}

/// A block of the grid eliminates part of one row. The block's y selects the row. Each thread computes one element.
KERNEL(benchmark_eliminate, benchmark_threads, GaussianArguments) {
  wait_for_previous();
  const unsigned n = arguments.side, pivot = arguments.pivot, row = pivot + 1 + static_cast<unsigned>(block_y()),
                 column = pivot + item();
  if (column >= n) return;
  const float factor = arguments.factors[row];
  float& element = arguments.matrix[row * n + column];
  if (column > pivot) {
    element -= product(factor, arguments.matrix[pivot * n + column]);
    return;
  }
  element = 0;
  arguments.right[row] -= product(factor, arguments.right[pivot]);
}

} // namespace rtexec::tasks::cuda
