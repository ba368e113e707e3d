// Tests of the device alone, side by side: the verdict of each test on the same set, with the swap volumes that suit
// the test best. Formulas, proofs and the scheduler of each test: proofs/. Set-up only: allocates.
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

/// Returns the tests for jobs that execute in `order`, the weakest test first.
[[nodiscard]] std::vector<DeviceTest> device_tests(Order order);

struct DeviceVerdict {
  DeviceTest test{};
  bool proved = false;
  Volumes volumes{};                     // the volumes that are proved, or that come closest; empty: no volumes fit
  std::optional<std::size_t> limiting{}; // the task that is tightest
  std::optional<std::size_t> blocker{};  // the task that blocks; absent: none, or not one alone
  // The inequality `left <= right` at the tightest instant or task. In theorem1 and baker both are shares of one
  // second.
  Nanos left = 0;
  Nanos right = 0;
  Nanos demand = 0;   // the part of `left` for jobs
  Nanos blocking = 0; // the part of `left` for work that began before them
  /// The length of the tightest interval, or the deadline of the tightest task; theorem1: the shortest period
  Nanos instant = 0;
  Nanos slack = 0; // how much longer the blocking could be
  /// Response bounds by task, if proved by demand, rta or pipelined; 0 for best-effort tasks
  std::vector<Nanos> responses{};
};

/// Tests the set with `volumes`, which must fit.
[[nodiscard]] DeviceVerdict test_device(const DeviceSet& set, DeviceTest test, Order order, const Volumes& volumes);

/// Tests the set with volumes chosen for the test.
[[nodiscard]] DeviceVerdict test_device(const DeviceSet& set, DeviceTest test, Order order);

} // namespace rtexec::policies
