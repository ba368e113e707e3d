// Measures the WCETs of a task set by running it. First each workload is tuned: it measures on the device which of its
// ways to compute are fastest. Then one warm-up job of each task tells how long jobs take, and many are run at a load
// that keeps the busiest core busy most of the time, so that CPU parts and device parts are measured beside each other.
#pragma once

#include "config/profile.hpp"
#include <rtexec/task_set.hpp>
#include "rtexec/executive/setup.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace rtexec::executive {

struct ProfileOptions {
  std::uint64_t jobs = 100; // of each task
  double margin = 1.2;      // WCET = longest observed x margin
};

/// Told how far it is; false ends it: Errc::cancelled.
struct ProfileObserver {
  /// Steps of tuning `task` done, and how many are wanted.
  std::function<bool(const std::string& task, std::size_t done, std::size_t wanted)> tuning;
  /// Jobs done so far of the slowest task, and how many are wanted.
  std::function<bool(std::uint64_t done, std::uint64_t wanted)> measuring;
};

/// Workloads and device of one's own, made anew for each of the steps.
using MakeSetup = std::function<Setup()>;

/// WCETs that the task set gives are measured as well. Errors: as those of Executive and of Workload::tune().
[[nodiscard]] Result<Profile> measure(
    const TaskSet& tasks, const ProfileOptions& options, const ProfileObserver& observer,
    const MakeSetup& make_setup = [] { return Setup{}; });

} // namespace rtexec::executive
