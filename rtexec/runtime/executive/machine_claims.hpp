// Resources of the machine that a run holds while it lasts, besides memory and threads: its cores, their clocks, the
// device's clocks, and a lock against deep idle states. The destructor releases all of them. Set-up only.
#pragma once

#include <rtexec/resolved_set.hpp>
#include "hal/board/clock_lock.hpp"
#include "hal/core_claim.hpp"
#include "hal/idle_states.hpp"
#include "hal/machine_files.hpp"
#include "rtexec/runtime/executive/needs.hpp"
#include "rtexec/runtime/executive/placement.hpp"
#include "rtexec/runtime/observation/neighbours.hpp"

#include <memory>
#include <optional>
#include <vector>

namespace rtexec::executive {

class MachineClaims {
 public:
  /// `set` outlives this.
  explicit MachineClaims(const ResolvedSet& set) : set_(set) {}

  [[nodiscard]] Need hold_idle_states();
  /// Claims the cores, and takes the partition of the placement. `exclusive`: a core that another run holds is refused
  /// even if the set allows a degraded run.
  [[nodiscard]] Need take_cores(Placement& placement, hal::ClaimFor purpose, bool exclusive);
  /// Locks the clocks of the cores, and the device's if the set requests it. The run that holds the cores holds their
  /// clocks.
  [[nodiscard]] std::vector<Need> lock_clocks(const Placement& placement);
  /// Keeps the cores out of idle states, if the set requests it.
  [[nodiscard]] std::optional<Need> keep_cores_awake(const Placement& placement);
  /// Starts the interference load on the cores of the set.
  [[nodiscard]] Need start_neighbours(const Placement& placement);

  [[nodiscard]] const std::vector<hal::LockedClock>& locked_clocks() const { return clock_lock_.clocks(); }

 private:
  [[nodiscard]] Need lock_frequency(const Placement& placement);
  [[nodiscard]] Need lock_device_clocks();

  const ResolvedSet& set_;
  hal::CoreClaim claim_;
  hal::FrequencyLock frequency_;
  hal::ClockLock clock_lock_;
  hal::ShallowIdle shallow_idle_;
  std::unique_ptr<hal::CpusetPartition> partition_;
  hal::KeepAwake awake_;
  Neighbours neighbours_;
};

/// Checks that this machine is the set's board, if the board's file has facts that hold on that board only. Absent: the
/// set's board may be any machine.
[[nodiscard]] std::optional<Need> right_board(const ResolvedSet& set);
/// Checks the limits of processor time. Returns nullopt if no control group limits this process.
[[nodiscard]] std::optional<Need> enough_processor_time(const ResolvedSet& set);

} // namespace rtexec::executive
