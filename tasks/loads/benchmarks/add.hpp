// The common part of adding vectors and adding matrices: arrays of `count` elements, and one kernel.
#pragma once

#include "tasks/loads/benchmarks/benchmark.hpp"

namespace rtexec::tasks::benchmark {

/// Returns the arrays of an addition: a and b are inputs, sum is the output.
[[nodiscard]] std::vector<ArrayDemand> add_arrays(unsigned count);
[[nodiscard]] cuda::Fill summands(unsigned, std::uint64_t job, std::size_t array) noexcept;
void fill_summands(unsigned count, std::uint64_t job, const Addresses& host) noexcept;
[[nodiscard]] std::vector<Step> add_steps(unsigned count, const Addresses& device);

} // namespace rtexec::tasks::benchmark
