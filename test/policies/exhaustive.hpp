// Finds the exact worst case of a tiny task set. It visits every state that any schedule can reach: every sporadic
// release pattern, every execution time from 0 to the WCET, every order of simultaneous events. Time is integer.
#pragma once

#include <cstdint>
#include <vector>

namespace rtexec::test {

struct TinyTask {
  int period = 1;
  // WCET of the first CPU part. If 0, the job requests the device at its release, or ends with its device part.
  int before = 0;
  int device = 0; // WCET of the device part; if 0, a task with a first part never requests the device
  int after = 0;
  int device_rank = 0; // smaller first, then the earlier release + device_done_by, then the lower index
  int device_done_by = 0;
  int core = 0; // 0 or 1
};

/// Returns the worst response time of each task; `tasks` is in order of core priority. A value of `period + 1` means
/// that a job can outlast the next release; the other values are then only lower estimates.
[[nodiscard]] std::vector<int> worst_responses(const std::vector<TinyTask>& tasks);

} // namespace rtexec::test
