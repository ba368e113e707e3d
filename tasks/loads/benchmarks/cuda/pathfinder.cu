// Computes one row of costs from one row of the wall.
#include "tasks/loads/benchmarks/cuda/benchmark.cuh"

namespace rtexec::tasks::cuda {

KERNEL(benchmark_step_row, benchmark_threads, PathfinderArguments) {
  wait_for_previous();
  const unsigned n = arguments.columns, column = item();
  if (column >= n) return;
  const int* const before = arguments.before;
  int least = before[column];
  if (column > 0 && before[column - 1] < least) least = before[column - 1];
  if (column + 1 < n && before[column + 1] < least) least = before[column + 1];
  arguments.costs[column] = arguments.wall[column] + least;
}

} // namespace rtexec::tasks::cuda
