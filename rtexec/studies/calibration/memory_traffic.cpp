#include "rtexec/studies/calibration/memory_traffic.hpp"

#include "tasks/loads/benchmarks/benchmark.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace rtexec::study {
namespace {

using policies::KernelTraffic;
using policies::MemoryTraffic;
using tasks::benchmark::Direction;
using tasks::benchmark::LaunchTraffic;

void count_arrays(std::span<const tasks::benchmark::ArrayDemand> arrays, MemoryTraffic& traffic) {
  for (const auto& array : arrays) {
    const bool in = goes_in(array.direction), out = goes_out(array.direction);
    traffic.in += in ? array.size : Bytes{0};
    traffic.out += out ? array.size : Bytes{0};
    traffic.copies += (in ? 1U : 0U) + (out ? 1U : 0U);
    (array.direction == Direction::device ? traffic.device_only : traffic.exchanged) += array.size;
  }
}

/// Groups launches of kernels with the same traffic. The groups are in the order of their first launches. The CPU
/// writes `exchanged` bytes before the first launch. If the first group touches all of these bytes, it gets one dirty
/// launch (KernelTraffic::dirty). Otherwise an entry with 0 launches and one dirty launch is put in front of the
/// groups.
std::vector<KernelTraffic> grouped(std::span<const LaunchTraffic> launches, Bytes exchanged) {
  std::vector<KernelTraffic> groups;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::size_t> known;
  for (const LaunchTraffic& launch : launches) {
    const auto [at, added] = known.try_emplace({launch.touched.count, launch.written.count}, groups.size());
    if (added) groups.push_back({.touched = launch.touched, .written = launch.written, .launches = 0});
    ++groups[at->second].launches;
  }
  if (groups.front().touched == exchanged) groups.front().dirty = 1;
  else groups.insert(groups.begin(), {.touched = exchanged, .launches = 0, .dirty = 1});
  return groups;
}

MemoryTraffic traffic_of(const tasks::benchmark::Benchmark& benchmark, unsigned size) {
  MemoryTraffic traffic{.prefetch = true, .kernels = {}};
  count_arrays(benchmark.arrays(size), traffic);
  const std::vector<LaunchTraffic> launches = benchmark.traffic(size);
  traffic.kernels = grouped(launches, traffic.exchanged);
  std::uint64_t hits = 0;
  for (const LaunchTraffic& launch : launches) {
    traffic.cache_accesses += launch.accesses;
    hits += launch.hits;
  }
  traffic.hit_rate =
      static_cast<double>(hits) / static_cast<double>(std::max<std::uint64_t>(traffic.cache_accesses, 1));
  traffic.hidden = hides_latency(benchmark, launches);
  return traffic;
}

} // namespace

MemoryTraffic traffic_of(WorkloadKind kind, unsigned size) {
  return traffic_of(tasks::benchmark::benchmark_of(kind), size);
}

MemoryTraffic traffic_of(const tasks::KernelWorkload& workload) {
  MemoryTraffic traffic = traffic_of(workload.kind(), workload.size());
  traffic.prefetch = workload.prefetch();
  return traffic;
}

ProfiledTraffic profiled(const MemoryTraffic& traffic) {
  ProfiledTraffic sums{.in = traffic.in,
                       .out = traffic.out,
                       .copies = traffic.copies,
                       .cache_accesses = traffic.cache_accesses,
                       .hit_rate = traffic.hit_rate,
                       .hidden = traffic.hidden,
                       .exchanged = traffic.exchanged,
                       .device_only = traffic.device_only,
                       .estimated = {"touched", "written", "cache_accesses", "hit_rate", "latency_hidden"}};
  for (const KernelTraffic& kernel : traffic.kernels) {
    sums.launches += kernel.launches;
    sums.dirty_launches += kernel.dirty;
    sums.mapped += kernel.touched * kernel.dirty;
    sums.touched += kernel.touched * kernel.launches;
    sums.written += kernel.written * kernel.launches;
  }
  return sums;
}

void add_traffic(Profile& profile, const TaskSet& tasks) {
  for (ProfileEntry& entry : profile.entries) {
    const auto task = std::ranges::find(tasks.tasks, entry.task, &Task::name);
    if (task != tasks.tasks.end() && is_micro_benchmark(task->workload))
      entry.traffic = profiled(traffic_of(task->workload, task->size.value_or(0)));
  }
}

} // namespace rtexec::study
