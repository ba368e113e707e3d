// Computes the distances of all places from the target place.
#include "tasks/loads/benchmarks/cuda/benchmark.cuh"

namespace rtexec::tasks::cuda {

KERNEL(benchmark_measure, benchmark_threads, NearestNeighbourArguments) {
  wait_for_previous();
  const unsigned i = item();
  if (i >= arguments.count) return;
  const float dx = arguments.x[i] - arguments.to_x, dy = arguments.y[i] - arguments.to_y;
  arguments.distances[i] = square_root(product(dx, dx) + product(dy, dy));
}

} // namespace rtexec::tasks::cuda
