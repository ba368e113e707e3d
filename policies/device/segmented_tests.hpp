// Tests of a device whose jobs are cut into segments and whose tasks are in preemption classes, under the rule
// `segmented`. Class 0 is the top class: its jobs swap no chunks, and take the device at the next end of a segment,
// whichever job executes. Classes 1, 2, .. are levels. Each level on its own follows the rule `pipelined` (loads during
// executions), and an unfinished job of one level stops all lower levels. Formulas and proofs: proofs/segmented.md.
// Set-up only: allocates.
#pragma once

#include "policies/device/device_demand.hpp"
#include "policies/device/device_response.hpp"

#include <cstddef>
#include <vector>

namespace rtexec::policies {

/// A task. Its times are the times of one job, including every charge (overhead that the analysis adds).
struct SegmentedTask {
  DemandTask part{};         // `cost`: the sum of all segments; `blocking` is not used; class 0 has no load
  unsigned device_class = 1; // 0: the top class; 1, 2, ..: levels, the most urgent first
  /// The longest sequence of segments between two points at which other jobs can take the device
  Nanos run = 0;
  Nanos last = 0;    // the length of the last segment
  Nanos restore = 0; // the time to reload the chunks that the task's load evicts, once per lower level; 0: no load
};

struct SegmentedSet {
  std::vector<SegmentedTask> tasks; // under static priority, the most urgent task of each class first
  DevicePart background{};  // for each member its maximum over the best-effort tasks, which are on the last level
  Nanos background_run = 0; // the longest run of segments of best-effort tasks
  Nanos flight = 0;         // the longest time until chunk transfers in flight have ended
};

class SegmentedAnalysis {
 public:
  explicit SegmentedAnalysis(SegmentedSet set);

  /// Returns the time that one job of `task` costs the less urgent class `device_class`: its time on the device, the
  /// time of its loads on the copy engines, and the time to reload the chunks that it evicts.
  [[nodiscard]] Nanos hold(std::size_t task, unsigned device_class) const;

  /// Analyses the set with EDF within each class. Returns the result of the class with the least slack, and the slack
  /// by task.
  [[nodiscard]] DemandAnalysis demand() const;

  /// Analyses the set with static priority within each class. Returns the response of `task`. Stops when the response
  /// exceeds the deadline. The result is valid only if every more urgent task requests the device within its jitter.
  [[nodiscard]] DeviceResponse response(std::size_t task) const;

 private:
  [[nodiscard]] Surroundings surroundings(unsigned device_class) const;
  [[nodiscard]] DeviceResponse top_class_response(std::size_t task) const;
  [[nodiscard]] DeviceResponse level_response(std::size_t task) const;

  SegmentedSet set_;
  unsigned last_ = 1;        // the last class
  std::vector<Below> below_; // by class
};

} // namespace rtexec::policies
