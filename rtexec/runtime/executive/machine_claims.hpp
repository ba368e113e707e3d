// A run holds these parts of the machine while it lasts, beside memory and threads: its cores, their clocks, the
// device's clocks, and what keeps cores from idling deeply. The destructor gives all of them back. Set-up only.
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
  /// `set` outlives it.
  explicit MachineClaims(const ResolvedSet& set) : set_(set) {}

  [[nodiscard]] Need hold_idle_states();
  /// With the partition of the placement. `exclusive`: a core that another run holds is refused in any case.
  [[nodiscard]] Need take_cores(Placement& placement, hal::ClaimFor purpose, bool exclusive);
  /// Locks the clocks of the cores, and the device's if the set asks for it. The run that has the cores has them.
  [[nodiscard]] std::vector<Need> lock_clocks(const Placement& placement);
  /// Where the set asks for it.
  [[nodiscard]] std::optional<Need> keep_cores_awake(const Placement& placement);
  /// Others use the cores of the set from now on, too.
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

/// What a board's file says holds on that board only. Absent: the set's board may be any machine.
[[nodiscard]] std::optional<Need> right_board(const ResolvedSet& set);
/// Absent: no control group limits the processor time of this process.
[[nodiscard]] std::optional<Need> enough_processor_time(const ResolvedSet& set);

} // namespace rtexec::executive
