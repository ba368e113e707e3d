// The verdicts of all tests of the device alone on a plan's tasks, each with the swap volumes that suit the test best.
// They are only a report: the promise depends on Plan::tests(). Pure.
#pragma once

#include <rtexec/plan.hpp>
#include <rtexec/resolved_set.hpp>

#include <vector>

namespace rtexec::policies {

/// Returns the verdicts. `plan` must have been made for `set`. Under EDF the tests are theorem1, baker, demand and
/// pipelined; under static priority rta and pipelined. The tests baker, demand and rta assume policy `serial`, or the
/// plan's own policy if it is a kind of rt-swap; `pipelined` assumes policy `pipelined`. The test theorem1 is Eqs. (1)
/// to (3) of the paper on RT-Swap (Kang et al., RTSS 2023) as published, without the board's charges, and is not sound.
[[nodiscard]] std::vector<TestVerdict> compare_device_tests(const Plan& plan, const ResolvedSet& set);

} // namespace rtexec::policies
