// Updates words at random positions of a table; the result does not depend on the order.
#include "tasks/loads/benchmarks/cuda/benchmark.cuh"

namespace rtexec::tasks::cuda {

KERNEL(benchmark_update, benchmark_threads, RandomAccessArguments) {
  wait_for_previous();
  const unsigned i = item();
  if (i >= arguments.count) return;
  const unsigned bits = noise(i, arguments.seed);
  flip(arguments.table + chosen(bits, arguments.count), bits);
}

} // namespace rtexec::tasks::cuda
