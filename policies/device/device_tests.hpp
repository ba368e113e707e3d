// Tests of the device alone, for comparison. Each test returns its verdict on the same set, with swap volumes (numbers
// of swapped chunks) that are chosen for this test. Formulas, proofs and the scheduler that each test assumes: proofs/.
// Set-up only: allocates.
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
  /// The swap volumes that are proved or, if none are proved, that leave the largest slack; empty: no swap volumes fit
  Volumes volumes{};
  std::optional<std::size_t> limiting{}; // the task with the least slack
  /// The task that blocks; absent: no task blocks, or several tasks together block
  std::optional<std::size_t> blocker{};
  // The inequality `left <= right` at the tightest instant or task. In theorem1 and baker, both sides are shares of one
  // second.
  Nanos left = 0;
  Nanos right = 0;
  Nanos demand = 0;   // the part of `left` that is demand of jobs
  Nanos blocking = 0; // the part of `left` that is blocking by work that began earlier
  /// The meaning depends on the test. theorem1 (RT-Swap, Theorem 1): the shortest period. baker, and tests of response
  /// times (static priority): the deadline of the tightest task. Tests of demand (EDF): the length of the tightest
  /// interval
  Nanos instant = 0;
  Nanos slack = 0; // the longest additional blocking that the test would allow
  /// Bounds on the responses, by task, if demand, rta or pipelined proves the set; 0 for best-effort tasks
  std::vector<Nanos> responses{};
};

/// Tests the set with the swap volumes `volumes`, which must fit (see fits()).
[[nodiscard]] DeviceVerdict test_device(const DeviceSet& set, DeviceTest test, Order order, const Volumes& volumes);

/// Tests the set with swap volumes that are chosen for the test.
[[nodiscard]] DeviceVerdict test_device(const DeviceSet& set, DeviceTest test, Order order);

} // namespace rtexec::policies
