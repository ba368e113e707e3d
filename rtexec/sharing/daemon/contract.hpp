// The contract between the daemon and one client: admission (client_admission.hpp) writes it, the dispatcher enforces
// it.
#pragma once

#include <rtexec/choices.hpp>
#include <rtexec/units.hpp>
#include "policies/scheduler/device_scheduler.hpp"

#include <cstdint>

namespace rtexec::daemon {

struct Contract {
  /// The client's task in the scheduler core. `device_done_by` orders its jobs, declared or not.
  policies::DeviceScheduler::TaskParameters task{};
  /// True if the client is declared. Jobs of undeclared clients execute only while no declared client needs the device.
  bool real_time = false;
  Duration period{0};   // minimum distance of two releases
  Duration deadline{0}; // relative to the release
  Duration wcet{0};
  /// A declared client may continue a job until `gap` after its end, within its WCET.
  Duration gap{0};
  OnWcetExceeded on_overrun = OnWcetExceeded::tell;
  std::uint32_t recorded_task = 0; // the client's number among the tasks of a recording
  friend bool operator==(const Contract&, const Contract&) = default;
};

} // namespace rtexec::daemon
