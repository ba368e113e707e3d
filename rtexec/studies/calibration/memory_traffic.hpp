// Computes the memory traffic of one job of a micro-benchmark for the model of memory policies. The traffic consists of
// copied bytes, launches of kernels, and accesses of the device's cache. Launches are grouped by size, and by whether
// they are the first to touch memory that the host wrote. The benchmark states its sizes and counts. The benchmark also
// estimates accesses, hits, and whether a GPU hides the latency of memory (tasks/loads/benchmarks/benchmark.hpp). The
// functions are pure.
#pragma once

#include <rtexec/profile.hpp>
#include <rtexec/task_set.hpp>
#include "policies/memory/memory_model.hpp"
#include "tasks/loads/benchmarks/kernel_workload.hpp"

namespace rtexec::study {

/// Returns the traffic of a workload. The host writes the workload's memory once, before the first launch. If the first
/// launch does not touch all memory of the job, a group without launches represents the memory that is mapped for the
/// job.
[[nodiscard]] policies::MemoryTraffic traffic_of(const tasks::KernelWorkload& workload);
/// Returns the traffic of a micro-benchmark with prefetches. `kind` must be a micro-benchmark (is_micro_benchmark()),
/// and `size` must be a size that it supports.
[[nodiscard]] policies::MemoryTraffic traffic_of(WorkloadKind kind, unsigned size);

/// Returns the sums of `traffic`, in the form of a profile.
[[nodiscard]] ProfiledTraffic profiled(const policies::MemoryTraffic& traffic);
/// For each task of `tasks` that is a micro-benchmark, adds its traffic to its entry in the profile.
void add_traffic(Profile& profile, const TaskSet& tasks);

} // namespace rtexec::study
