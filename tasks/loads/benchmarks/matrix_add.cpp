// Computes sum = a + b, for matrices with `size` rows and columns.
#include "tasks/loads/benchmarks/add.hpp"
#include "tasks/loads/benchmarks/benchmark.hpp"

namespace rtexec::tasks::benchmark {

constinit const Benchmark matrix_add{
    .kind = WorkloadKind::matrix_add,
    .unit = "rows and columns",
    .least = 1,
    .most = 1U << 14U,
    .arrays = [](unsigned size) { return add_arrays(size * size); },
    .fill = [](unsigned size, std::uint64_t job,
               const Addresses& host) noexcept { fill_summands(size * size, job, host); },
    .contents = summands,
    .steps = [](unsigned size, const Addresses& device) { return add_steps(size * size, device); },
    .traffic = [](unsigned size) { return std::vector{streaming(std::uint64_t{size} * size, 2)}; }};

} // namespace rtexec::tasks::benchmark
