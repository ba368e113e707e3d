// Tests of a device whose jobs are cut into segments and whose tasks are put into classes, by the rule `segmented`.
// Class 0, express: its jobs swap nothing, and take the device at the next boundary of whatever executes. Classes 1,
// 2, ..: levels; each by itself goes by the rule `pipelined`, and a job of one of them freezes all levels below.
// Formulas and proofs: proofs/segmented.md. Set-up only: allocates.
#pragma once

#include "policies/device/device_demand.hpp"
#include "policies/device/device_response.hpp"

#include <cstddef>
#include <vector>

namespace rtexec::policies {

/// Times are those of one job, with every charge inside them.
struct SegmentedTask {
  DemandTask part{};         // cost: of all segments. `blocking` is not used; class 0 has no load
  unsigned device_class = 1; // 0: express; 1, 2, ..: levels, the most urgent first
  Nanos run = 0;             // the longest run of segments without a boundary at which others may take the device
  Nanos last = 0;            // the last segment
  Nanos restore = 0;         // loading again, for one level, what its load has taken the frames of; 0: without a load
};

struct SegmentedSet {
  std::vector<SegmentedTask> tasks; // under static priority the most urgent of each class first
  DevicePart background{};          // the longest parts of best-effort tasks, which are of the last level,
  Nanos background_run = 0;         // and the longest run of their segments
  Nanos flight = 0;                 // what chunks that are in flight take to land, at most
};

class SegmentedAnalysis {
 public:
  explicit SegmentedAnalysis(SegmentedSet set);

  /// What a job costs a less urgent class: it holds the device, its loads take the engines, and what it evicts is
  /// loaded again.
  [[nodiscard]] Nanos hold(std::size_t task, unsigned device_class) const;

  /// Earliest deadline first within each class. Of all classes the tightest; slack by task.
  [[nodiscard]] DemandAnalysis demand() const;

  /// Static priority within each class. Stops beyond the deadline. Those of more urgent tasks are to be no later than
  /// their jitters say.
  [[nodiscard]] DeviceResponse response(std::size_t task) const;

 private:
  [[nodiscard]] Surroundings surroundings(unsigned device_class) const;
  [[nodiscard]] DeviceResponse express_response(std::size_t task) const;
  [[nodiscard]] DeviceResponse level_response(std::size_t task) const;

  SegmentedSet set_;
  unsigned last_ = 1;        // class
  std::vector<Below> below_; // by class
};

} // namespace rtexec::policies
