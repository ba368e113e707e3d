// Emulates the costs of memory policies on the host device, where all memory is the same. The workload waits for the
// time that the operations of a platform would take, according to the costs in the board file. D is device memory, M
// managed memory, and H host memory. The formulas are from Bateni et al. (Co-Optimizing Performance and Memory
// Footprint, RTAS 2020):
// - M maps pages and flushes the caches of the CPU, which wrote the inputs, before the first launch. M flushes the
//   device's cache after each launch (Eqs. 3 and 4).
// - H maps memory with each launch, and adds the cost of accesses that no cache serves (Eqs. 6 to 8).
// - D has a minimum time for each copy (Eq. 2).
//
// An object is made at set-up; its waits are real-time code. During mapping the core idles, so that another job may
// execute. All other waits keep the core busy, because the operations that they emulate would keep the device busy.
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/choices.hpp>
#include <rtexec/units.hpp>
#include "tasks/loads/benchmarks/benchmark.hpp"

#include <span>
#include <vector>

namespace rtexec::tasks {

/// The costs of one kernel launch.
struct LaunchCosts {
  Duration mapping{0}; // before the launch
  Duration flush{0};   // before the launch, after the mapping
  Duration behind{0};
  friend bool operator==(const LaunchCosts&, const LaunchCosts&) = default;
};

class EmulatedCosts {
 public:
  /// Makes an object without costs.
  EmulatedCosts() = default;
  /// `exchanged` is the number of bytes that both host and device use. If the costs of the platform are unknown (no
  /// known costs in `costs`), no costs are emulated.
  EmulatedCosts(const MemoryCosts& costs, MemoryPolicy policy, const benchmark::Benchmark& benchmark, unsigned size,
                Bytes exchanged);

  /// Returns the costs of each step, in the order of the steps. Under the memory policy D (device memory) no costs are
  /// emulated, and the result is empty.
  [[nodiscard]] std::span<const LaunchCosts> launches() const { return launches_; }
  /// Return the minimum time of a copy to the device, and of a copy back to the host.
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
