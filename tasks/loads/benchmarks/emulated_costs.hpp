// What a memory policy costs on the host device, where all memory is the same: waits in place of what a platform does,
// as long as the board's costs say. Formulas of Bateni et al. (Co-Optimizing Performance and Memory Footprint, RTAS
// 2020): M maps pages and flushes the CPU's caches where the CPU wrote before the launch, and flushes the device's
// cache behind each (Eqs. 3 and 4); H maps with each launch and pays for what no cache answers (Eqs. 6 to 8); D has
// each of its copies take a time at least (Eq. 2).
//
// Made at set-up; waits are real-time. Mapping lets the core idle, so that another job may execute meanwhile; all else
// keeps it busy, as it keeps the device.
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/choices.hpp>
#include <rtexec/units.hpp>
#include "tasks/loads/benchmarks/benchmark.hpp"

#include <span>
#include <vector>

namespace rtexec::tasks {

/// Of one launch.
struct LaunchCosts {
  Duration mapping{0}; // before it,
  Duration flush{0};   // and then
  Duration behind{0};
  friend bool operator==(const LaunchCosts&, const LaunchCosts&) = default;
};

class EmulatedCosts {
 public:
  /// Nothing.
  EmulatedCosts() = default;
  /// `exchanged`: what the host and the device see. Nothing where `costs` are not known.
  EmulatedCosts(const MemoryCosts& costs, MemoryPolicy policy, const benchmark::Benchmark& benchmark, unsigned size,
                Bytes exchanged);

  /// In the order of the steps; none under D.
  [[nodiscard]] std::span<const LaunchCosts> launches() const { return launches_; }
  /// The least that a copy takes.
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
