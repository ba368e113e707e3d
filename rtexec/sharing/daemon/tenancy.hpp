// What a client is to the dispatcher: admission (clients.hpp) says it, and the dispatcher holds the client to it.
#pragma once

#include <rtexec/choices.hpp>
#include <rtexec/units.hpp>
#include "policies/scheduler/device_scheduler.hpp"

#include <cstdint>

namespace rtexec::daemon {

/// What a client's jobs are held to.
struct Contract {
  /// Declared: releases are at least a period apart. Otherwise the job runs when no declared one wants to.
  bool real_time = false;
  Duration period{0};
  Duration deadline{0}; // from the release
  Duration order_by{0}; // likewise: what orders it among others
  Duration wcet{0};
  /// Of a declared one: for how long after its end a job may go on, while its WCET lasts.
  Duration gap{0};
  OnWcetExceeded on_overrun = OnWcetExceeded::tell;
  friend bool operator==(const Contract&, const Contract&) = default;
};

struct Tenancy {
  policies::DeviceScheduler::Tenant tenant;
  Contract contract;
  std::uint32_t traced_as = 0; // its number among the tasks of a recording
  friend bool operator==(const Tenancy&, const Tenancy&) = default;
};

} // namespace rtexec::daemon
