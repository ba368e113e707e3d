// Measures the WCETs of a task set by running it: one rehearsed job of each task tells how long jobs take, then many are run at a load
// that keeps the busiest core busy most of the time, so that CPU parts and device parts are measured beside each other.
#pragma once

#include "config/profile.hpp"
#include "config/task_set.hpp"

#include <cstdint>
#include <functional>

namespace rtexec::executive {

struct ProfileOptions {
  std::uint64_t jobs = 100; // of each task
  double margin = 1.2;      // WCET = longest observed x margin
};

/// Jobs done so far of the slowest task, and how many are wanted. False ends the measurement: Errc::cancelled.
using ProfileProgress = std::function<bool(std::uint64_t done, std::uint64_t wanted)>;

/// WCETs that the task set gives are measured as well. Errors: as those of Executive.
[[nodiscard]] Result<Profile> measure(const TaskSet& tasks, const ProfileOptions& options, const ProfileProgress& progress);

} // namespace rtexec::executive
