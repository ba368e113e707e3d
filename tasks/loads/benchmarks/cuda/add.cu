// Adds vectors and matrices, element by element.
#include "tasks/loads/benchmarks/cuda/benchmark.cuh"

namespace rtexec::tasks::cuda {

KERNEL(benchmark_add, benchmark_threads, AddArguments) {
  wait_for_previous();
  const unsigned i = item();
  if (i < arguments.count) arguments.sum[i] = arguments.a[i] + arguments.b[i];
}

} // namespace rtexec::tasks::cuda
