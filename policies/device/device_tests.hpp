// Tests of the device alone, side by side: the verdict of each on the same set, with the volumes that suit it best.
// Formulas, proofs and the scheduler of each test: proofs/. Set-up only: allocates.
#pragma once

#include <rtexec/plan.hpp>
#include <rtexec/choices.hpp>
#include "policies/device/device_demand.hpp"
#include "policies/device/device_set.hpp"

#include <cstddef>
#include <optional>
#include <vector>

namespace rtexec::policies {

/// A test of the device alone: theorem1, baker, demand, rta or pipelined.
using DeviceTest = AdmissionTest;

/// Returns the tests for jobs in this order, the weakest first.
[[nodiscard]] std::vector<DeviceTest> device_tests(Order order);

struct DeviceVerdict {
  DeviceTest test{};
  bool proved = false;
  Volumes volumes{};                     // for which it holds, or that come closest; empty: no volumes fit
  std::optional<std::size_t> limiting{}; // task
  std::optional<std::size_t> blocker{};  // the task that blocks; absent: none, or not one alone
  // `left <= right` at the tightest instant or task. Shares (theorem1, baker) are of one second.
  Nanos left = 0;
  Nanos right = 0;
  Nanos demand = 0;   // the part of `left` for jobs
  Nanos blocking = 0; // the part of `left` for work that began before them
  /// L: the interval of the demand, or the deadline in question; theorem1: the shortest period
  Nanos instant = 0;
  Nanos slack = 0; // how much longer the blocking could be
  /// Bounds, by task, if proved by demand, rta or pipelined; 0 for tasks that are not real-time
  std::vector<Nanos> responses{};
};

/// Tests `volumes`, which must fit.
[[nodiscard]] DeviceVerdict test_device(const DeviceSet& set, DeviceTest test, Order order, const Volumes& volumes);

/// Tests the set with volumes chosen for the test.
[[nodiscard]] DeviceVerdict test_device(const DeviceSet& set, DeviceTest test, Order order);

} // namespace rtexec::policies
