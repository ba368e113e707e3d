// Computes the memory traffic of one job of a micro-benchmark for the model of memory policies. This is: copied bytes;
// launches, by size and by whether they are the first to touch what the host wrote; and accesses of the device's cache.
// Sizes and counts are the benchmark's. Accesses, hits and whether latency is hidden (as by launches that fill a GPU on
// average) are estimated (tasks/loads/benchmarks/benchmark.hpp). Pure.
#pragma once

#include <rtexec/profile.hpp>
#include <rtexec/task_set.hpp>
#include "policies/memory/memory_model.hpp"
#include "tasks/loads/benchmarks/kernel_workload.hpp"

namespace rtexec::study {

/// Returns the traffic of a workload, for which the host writes once, before the first launch. If that launch does not
/// touch all that the job touches, a group without launches says what is mapped for the job.
[[nodiscard]] policies::MemoryTraffic traffic_of(const tasks::KernelWorkload& workload);
/// Returns the traffic with prefetches. `kind` must be an is_micro_benchmark(), and `size` one that it can have.
[[nodiscard]] policies::MemoryTraffic traffic_of(WorkloadKind kind, unsigned size);

/// Returns the sums of `traffic`, for a profile.
[[nodiscard]] ProfiledTraffic profiled(const policies::MemoryTraffic& traffic);
/// Adds the traffic to the entries of micro-benchmarks of `tasks`.
void add_traffic(Profile& profile, const TaskSet& tasks);

} // namespace rtexec::study
