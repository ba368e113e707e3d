// The verdicts of all tests of the device alone on a plan's tasks, for comparison. A verdict says whether a test proves
// the tasks, with the numbers of its inequality. Each test uses swap volumes (numbers of swapped chunks) that are
// chosen for it. The verdicts are only a report: promises depend on Plan::tests(). Pure.
#pragma once

#include <rtexec/plan.hpp>
#include <rtexec/resolved_set.hpp>

#include <vector>

namespace rtexec::policies {

/// Returns the verdicts. `plan` must have been made for `set`. Under EDF the tests are theorem1, baker, demand and
/// pipelined; under static priority rta and pipelined. The tests baker, demand and rta assume policy `serial`, or the
/// plan's own policy if it is a variant of rt-swap; `pipelined` assumes policy `pipelined`. The test theorem1 is Eqs.
/// (1) to (3) of the paper on RT-Swap (Kang et al., RTSS 2023) as published. It leaves out the board's charges and is
/// not sound.
[[nodiscard]] std::vector<TestVerdict> compare_device_tests(const Plan& plan, const ResolvedSet& set);

} // namespace rtexec::policies
