// The exact worst case of a tiny task set, by visiting every state that any schedule can reach: every sporadic release
// pattern, every execution time from 0 to the WCET, every order of what happens at one instant. Integer time.
#pragma once

#include <cstdint>
#include <vector>

namespace rtexec::test {

struct TinyTask {
  int period = 1;
  int before = 0; // CPU parts; with 0 the job asks for the device at once, or ends with it
  int device = 0; // 0: what has a part before never asks for the device
  int after = 0;
  int device_rank = 0; // smaller first, then the earlier release + device_done_by, then the lower index
  int device_done_by = 0;
  int core = 0; // 0 or 1
};

/// Tasks in order of core priority. The worst response time of each; `period + 1` where a job can outlast the next
/// release, and then the numbers of the other tasks are only lower estimates.
[[nodiscard]] std::vector<int> worst_responses(const std::vector<TinyTask>& tasks);

} // namespace rtexec::test
