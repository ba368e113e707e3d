// Resources of the machine that a run holds while it lasts, besides memory and threads: its cores, their clocks, the
// device's clocks, and a lock against deep idle states. The destructor releases all these resources. Set-up only.
#pragma once

#include <rtexec/resolved_set.hpp>
#include "hal/board/clock_lock.hpp"
#include "hal/core_claim.hpp"
#include "hal/idle_states.hpp"
#include "hal/machine_files.hpp"
#include "rtexec/runtime/executive/requirements.hpp"
#include "rtexec/runtime/executive/placement.hpp"
#include "rtexec/runtime/observation/interference_load.hpp"

#include <memory>
#include <optional>
#include <vector>

namespace rtexec::executive {

class MachineClaims {
 public:
  /// `set` must outlive this object.
  explicit MachineClaims(const ResolvedSet& set) : set_(set) {}

  [[nodiscard]] Requirement hold_idle_states();
  /// Claims the cores of the placement, and takes over its cpuset partition. If `exclusive` is true and another run
  /// holds one of the cores, the requirement is refused, even if the set allows a degraded run.
  [[nodiscard]] Requirement take_cores(Placement& placement, hal::ClaimFor purpose, bool exclusive);
  /// Locks the clocks of the cores and of the device, if the set requests it. A run that holds the cores thereby also
  /// holds their clocks.
  [[nodiscard]] std::vector<Requirement> lock_clocks(const Placement& placement);
  /// Keeps the cores out of idle states, if the set requests it. Returns nullopt if the set does not request it.
  [[nodiscard]] std::optional<Requirement> keep_cores_awake(const Placement& placement);
  /// Starts the interference load (observation/interference_load.hpp) on the cores of the set.
  [[nodiscard]] Requirement start_interference(const Placement& placement);

  [[nodiscard]] const std::vector<hal::LockedClock>& locked_clocks() const { return clock_lock_.clocks(); }

 private:
  [[nodiscard]] Requirement lock_frequency(const Placement& placement);
  [[nodiscard]] Requirement lock_device_clocks();

  const ResolvedSet& set_;
  hal::CoreClaim claim_;
  hal::FrequencyLock frequency_;
  hal::ClockLock clock_lock_;
  hal::ShallowIdle shallow_idle_;
  std::unique_ptr<hal::CpusetPartition> partition_;
  hal::KeepAwake awake_;
  InterferenceLoad interference_;
};

/// Checks that this machine is the board of the set. Returns nullopt if the board's file contains no facts by which
/// this board differs from other machines.
[[nodiscard]] std::optional<Requirement> right_board(const ResolvedSet& set);
/// Checks that a control group's limit of processor time is large enough for the run. Returns nullopt if no control
/// group limits this process.
[[nodiscard]] std::optional<Requirement> enough_processor_time(const ResolvedSet& set);

} // namespace rtexec::executive
