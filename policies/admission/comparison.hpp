// The verdicts of all tests of the device alone on a plan's tasks, with the volumes that suit each test best. They are
// a report; the promise rests on Plan::tests(). Pure.
#pragma once

#include <rtexec/plan.hpp>
#include <rtexec/resolved_set.hpp>

#include <vector>

namespace rtexec::policies {

/// Returns the verdicts. `plan` must have been made for `set`. Under EDF the tests are theorem1, baker, demand and
/// pipelined; under static priority rta and pipelined. baker, demand and rta are for policy `serial`, or for the plan's
/// own if that is a kind of rt-swap; `pipelined` is for policy `pipelined`. theorem1 takes RT-Swap's Eq. (1) to (3) as
/// published, without the board's charges, and is not sound.
[[nodiscard]] std::vector<TestVerdict> compare_device_tests(const Plan& plan, const ResolvedSet& set);

} // namespace rtexec::policies
