// Computes the memory traffic of one job of a micro-benchmark for the model of memory policies. The traffic consists
// of copied bytes, launches of kernels, and accesses of the device's cache. Launches are grouped by size, and by
// whether they are the first to touch memory that the host wrote. The benchmark gives sizes and counts. It also
// estimates accesses, hits, and whether a GPU hides the latency of memory (tasks/loads/benchmarks/benchmark.hpp). The
// functions are pure.
#pragma once

#include <rtexec/profile.hpp>
#include <rtexec/task_set.hpp>
#include "policies/memory/memory_model.hpp"
#include "tasks/loads/benchmarks/kernel_workload.hpp"

namespace rtexec::study {

/// Returns the traffic of a workload. The host writes its memory once, before the first launch. If the first launch
/// does not touch all memory of the job, a group without launches stands for the memory that is mapped for the job.
[[nodiscard]] policies::MemoryTraffic traffic_of(const tasks::KernelWorkload& workload);
/// Returns the traffic with prefetches. `kind` must be a micro-benchmark (is_micro_benchmark()), and `size` a size
/// that it supports.
[[nodiscard]] policies::MemoryTraffic traffic_of(WorkloadKind kind, unsigned size);

/// Returns the sums of `traffic`, in the form of a profile.
[[nodiscard]] ProfiledTraffic profiled(const policies::MemoryTraffic& traffic);
/// Adds their traffic to the profile's entries of those `tasks` that are micro-benchmarks.
void add_traffic(Profile& profile, const TaskSet& tasks);

} // namespace rtexec::study
