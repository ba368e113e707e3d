// Fills arrays with their first contents.
#include "tasks/loads/benchmarks/cuda/benchmark.cuh"

namespace rtexec::tasks::cuda {

KERNEL(benchmark_fill, benchmark_threads, FillArguments) {
  wait_for_previous();
  const Fill fill = arguments.fill;
  for (unsigned done = item(); done < arguments.count; done += arguments.threads) {
    const unsigned i = arguments.first + done;
    switch (fill.kind) {
    case Fill::fractions: static_cast<float*>(arguments.to)[i] = filled_fraction(fill, i); break;
    case Fill::integers: static_cast<int*>(arguments.to)[i] = filled_integer(fill, i); break;
    case Fill::scores: static_cast<int*>(arguments.to)[i] = filled_score(fill, i); break;
    default: static_cast<unsigned*>(arguments.to)[i] = noise(i, fill.seed);
    }
  }
}

} // namespace rtexec::tasks::cuda
