// What one job of a micro-benchmark does to memory, in the terms of the model of memory policies: bytes that are
// copied, launches by their size and whether they are the first to touch what the host wrote, accesses of the device's
// cache. Sizes and counts are the benchmark's; accesses, hits and whether latency is hidden, as by launches that fill a
// GPU on average, are estimated (tasks/loads/benchmarks/benchmark.hpp). Pure.
#pragma once

#include <rtexec/profile.hpp>
#include <rtexec/task_set.hpp>
#include "policies/memory/memory_model.hpp"
#include "tasks/loads/benchmarks/kernel_workload.hpp"

namespace rtexec::study {

/// The host writes once, before the first launch: where that one does not touch all that the job touches, a group
/// without launches says what is mapped for the job.
[[nodiscard]] policies::MemoryTraffic traffic_of(const tasks::KernelWorkload& workload);
/// With prefetches, of a kind that is_micro_benchmark() and a size that it can have.
[[nodiscard]] policies::MemoryTraffic traffic_of(WorkloadKind kind, unsigned size);

/// Its sums, for a profile.
[[nodiscard]] ProfiledTraffic profiled(const policies::MemoryTraffic& traffic);
/// Gives the entries of micro-benchmarks of `tasks` theirs.
void add_traffic(Profile& profile, const TaskSet& tasks);

} // namespace rtexec::study
