// Computes one round, in which each point adopts the smallest label of the points near it. Another thread may lower a
// label at the same time; the old and the new label are both valid.
#include "tasks/loads/benchmarks/cuda/benchmark.cuh"

namespace rtexec::tasks::cuda {

KERNEL(benchmark_join, benchmark_threads, ClusteringArguments) {
  wait_for_previous();
  const unsigned point = item();
  if (point >= arguments.count) return;
  const float x = arguments.x[point], y = arguments.y[point], z = arguments.z[point],
              most = product(arguments.reach, arguments.reach);
  int least = arguments.labels[point];
  for (unsigned i = 0; i < arguments.count; ++i) {
    const float dx = arguments.x[i] - x, dy = arguments.y[i] - y, dz = arguments.z[i] - z;
    const float distance = (product(dx, dx) + product(dy, dy)) + product(dz, dz);
    const int label = arguments.labels[i];
    if (distance <= most && label < least) least = label;
  }
  arguments.labels[point] = least;
}

} // namespace rtexec::tasks::cuda
