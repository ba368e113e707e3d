// What each test of the device alone says of a plan's tasks, with the volumes that suit that test best: a report beside
// the promise, which rests on Plan::tests(). Pure.
#pragma once

#include <rtexec/plan.hpp>
#include <rtexec/resolved_set.hpp>

#include <vector>

namespace rtexec::policies {

/// `plan` was made for `tasks` on `board`. Under EDF theorem1, baker, demand and pipelined; under static priority rta
/// and pipelined. baker, demand and rta are for policy `serial`, or for the plan's own where that is a kind of rt-swap;
/// `pipelined` is for policy `pipelined`. theorem1 takes RT-Swap's Eq. (1) to (3) as published, without the board's
/// charges, and is not sound.
[[nodiscard]] std::vector<TestVerdict> compare_device_tests(const Plan& plan, const ResolvedSet& set);

} // namespace rtexec::policies
