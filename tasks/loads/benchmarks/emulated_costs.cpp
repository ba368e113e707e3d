#include "tasks/loads/benchmarks/emulated_costs.hpp"

#include "hal/thread.hpp"

#include <algorithm>
#include <cmath>

namespace rtexec::tasks {
namespace {

using benchmark::LaunchTraffic;

Duration time(double each, std::uint64_t count) { return Duration(std::llround(each * static_cast<double>(count))); }

LaunchCosts managed(const MemoryCosts& costs, const LaunchTraffic& launch) {
  return {.behind = std::min(time(costs.written_back, launch.written.count), costs.device_flush)};
}

LaunchCosts host_pinned(const MemoryCosts& costs, const LaunchTraffic& launch, bool hidden) {
  const double penalty = hidden ? 0 : std::max(costs.memory_access - costs.cache_access, 0.0);
  return {.mapping = time(costs.mapped, launch.touched.count), .behind = time(penalty, launch.hits)};
}

void idle(Duration time) noexcept {
  if (time > Duration::zero()) hal::sleep_until(hal::now() + time);
}

void be_busy(Duration time) noexcept {
  if (time <= Duration::zero()) return;
  for (const Instant end = hal::now() + time; hal::now() < end;) hal::pause_core();
}

} // namespace

EmulatedCosts::EmulatedCosts(const MemoryCosts& costs, MemoryPolicy policy, const benchmark::Benchmark& benchmark,
                             unsigned size, Bytes exchanged)
    : costs_(costs) {
  if (!costs.known() || (policy != MemoryPolicy::managed && policy != MemoryPolicy::host)) return;
  const std::vector<LaunchTraffic> launches = benchmark.traffic(size);
  const bool hidden = hides_latency(benchmark, launches);
  for (const LaunchTraffic& launch : launches)
    launches_.push_back(policy == MemoryPolicy::managed ? managed(costs, launch) : host_pinned(costs, launch, hidden));
  if (policy != MemoryPolicy::managed) return;
  launches_.front().mapping = time(costs.mapped, exchanged.count);
  launches_.front().flush = costs.host_flush;
}

Duration EmulatedCosts::copy(Bytes size, double per_byte) const noexcept {
  return costs_.copy_start + time(per_byte, size.count);
}

void EmulatedCosts::before(std::size_t step) const noexcept {
  if (launches_.empty()) return;
  idle(launches_[step].mapping);
  be_busy(launches_[step].flush);
}

void EmulatedCosts::behind(std::size_t step) const noexcept {
  if (!launches_.empty()) be_busy(launches_[step].behind);
}

} // namespace rtexec::tasks
