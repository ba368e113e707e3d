// The contract between the daemon and one client: admission (client_admission.hpp) writes it, the dispatcher enforces
// it.
#pragma once

#include <rtexec/choices.hpp>
#include <rtexec/units.hpp>
#include "policies/scheduler/device_scheduler.hpp"

#include <cstdint>

namespace rtexec::daemon {

struct Contract {
  /// The parameters of the client's task in the scheduler core. `device_done_by` orders all jobs, including jobs of
  /// undeclared clients.
  policies::DeviceScheduler::TaskParameters task{};
  /// True if the client has declared a deadline. Jobs of undeclared clients execute only while no declared client
  /// needs the device.
  bool real_time = false;
  Duration period{0};   // minimum time between two releases
  Duration deadline{0}; // maximum time from a release to the end of the released job
  Duration wcet{0};
  /// A declared client that has ended a job may continue that job within this time, as long as the job keeps its WCET.
  Duration gap{0};
  OnWcetExceeded on_overrun = OnWcetExceeded::tell;
  std::uint32_t recorded_task = 0; // the client's number among the tasks of a recording
  friend bool operator==(const Contract&, const Contract&) = default;
};

} // namespace rtexec::daemon
