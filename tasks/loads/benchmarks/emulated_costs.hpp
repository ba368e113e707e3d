// Emulated costs of memory policies on the host device, where all memory is the same. The workload waits for the time
// that a platform's operations would take, according to the board's costs. Formulas of Bateni et al. (Co-Optimizing
// Performance and Memory Footprint, RTAS 2020):
// - M maps pages and flushes the CPU's caches where the CPU wrote before the launch, and flushes the device's cache
//   after each launch (Eqs. 3 and 4).
// - H maps with each launch and pays for accesses that no cache serves (Eqs. 6 to 8).
// - D has a minimum time for each copy (Eq. 2).
//
// Made at set-up; the waits are real-time. During mapping the core idles, so that another job may execute. All other
// waits keep the core busy, because they would keep the device busy.
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/choices.hpp>
#include <rtexec/units.hpp>
#include "tasks/loads/benchmarks/benchmark.hpp"

#include <span>
#include <vector>

namespace rtexec::tasks {

/// Costs of one launch.
struct LaunchCosts {
  Duration mapping{0}; // before the launch
  Duration flush{0};   // before the launch, after the mapping
  Duration behind{0};
  friend bool operator==(const LaunchCosts&, const LaunchCosts&) = default;
};

class EmulatedCosts {
 public:
  /// No costs.
  EmulatedCosts() = default;
  /// `exchanged`: bytes that both host and device use. There are no costs if `costs` are not known.
  EmulatedCosts(const MemoryCosts& costs, MemoryPolicy policy, const benchmark::Benchmark& benchmark, unsigned size,
                Bytes exchanged);

  /// Returns the costs in the order of the steps; empty under D.
  [[nodiscard]] std::span<const LaunchCosts> launches() const { return launches_; }
  /// Returns the minimum time of a copy.
  [[nodiscard]] Duration copy_in(Bytes size) const noexcept { return copy(size, costs_.copied_in); }
  [[nodiscard]] Duration copy_out(Bytes size) const noexcept { return copy(size, costs_.copied_out); }

  void before(std::size_t step) const noexcept;
  void behind(std::size_t step) const noexcept;

 private:
  [[nodiscard]] Duration copy(Bytes size, double per_byte) const noexcept;

  MemoryCosts costs_;
  std::vector<LaunchCosts> launches_;
};

} // namespace rtexec::tasks
