// Computes sum = a + b for `size` elements: one kernel, with the highest ratio of input memory to operations.
#include "tasks/loads/benchmarks/add.hpp"
#include "tasks/loads/benchmarks/benchmark.hpp"

namespace rtexec::tasks::benchmark {

constinit const Benchmark vector_add{
    .kind = WorkloadKind::vector_add,
    .unit = "elements",
    .least = 1,
    .most = 1U << 28U,
    .arrays = [](unsigned size) { return add_arrays(size); },
    .fill = [](unsigned size, std::uint64_t job, const Addresses& host) noexcept { fill_summands(size, job, host); },
    .contents = summands,
    .steps = [](unsigned size, const Addresses& device) { return add_steps(size, device); },
    .traffic = [](unsigned size) { return std::vector{streaming(size, 2)}; }};

} // namespace rtexec::tasks::benchmark
