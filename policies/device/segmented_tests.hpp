// Tests of a device whose jobs are cut into segments and whose tasks are in classes, under the rule `segmented`. Class
// 0 is of the top class: its jobs swap nothing, and take the device at the next end of a segment, whichever job
// executes. Classes 1, 2, .. are levels: each follows the rule `pipelined` (loads during executions) on its own, and an
// unfinished job of one level stops all lower levels. Formulas and proofs: proofs/segmented.md. Set-up only: allocates.
#pragma once

#include "policies/device/device_demand.hpp"
#include "policies/device/device_response.hpp"

#include <cstddef>
#include <vector>

namespace rtexec::policies {

/// A task. Its times are those of one job, every charge included.
struct SegmentedTask {
  DemandTask part{};         // `cost`: all segments; `blocking` is not used; class 0 has no load
  unsigned device_class = 1; // 0: the top class; 1, 2, ..: levels, the most urgent first
  Nanos run = 0;             // the longest run of segments without a boundary at which others may take the device
  Nanos last = 0;            // the last segment
  Nanos restore = 0;         // for each lower level: the time to reload the chunks that its load evicts; 0: no load
};

struct SegmentedSet {
  std::vector<SegmentedTask> tasks; // under static priority the most urgent of each class first
  DevicePart background{};          // the longest parts of best-effort tasks, which are of the last level
  Nanos background_run = 0;         // the longest run of their segments
  Nanos flight = 0;                 // the longest time until chunks in flight have been copied
};

class SegmentedAnalysis {
 public:
  explicit SegmentedAnalysis(SegmentedSet set);

  /// Returns the time that one job costs a less urgent class: it holds the device, its loads use the copy engines, and
  /// the chunks that it evicts are loaded again.
  [[nodiscard]] Nanos hold(std::size_t task, unsigned device_class) const;

  /// Analyses EDF within each class. Returns the tightest result of all classes, and the slack by task.
  [[nodiscard]] DemandAnalysis demand() const;

  /// Analyses static priority within each class: returns the response of `task`. Stops beyond its deadline. The result
  /// holds only if no more urgent task requests the device later than its jitter says.
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
