// Expands one level of a breadth-first search. Threads that find the same node write the same value.
#include "tasks/loads/benchmarks/cuda/benchmark.cuh"

namespace rtexec::tasks::cuda {

KERNEL(benchmark_expand_level, benchmark_threads, BfsArguments) {
  wait_for_previous();
  const unsigned node = item();
  if (arguments.reached[arguments.level] == 0 || node >= arguments.nodes || arguments.levels[node] != arguments.level)
    return;
  for (unsigned edge = arguments.first[node]; edge < arguments.first[node + 1]; ++edge) {
    int& level = arguments.levels[arguments.neighbours[edge]];
    if (level >= 0) continue;
    level = arguments.level + 1;
    arguments.reached[arguments.level + 1] = 1;
  }
}

} // namespace rtexec::tasks::cuda
