// Whoever wants to see a recording's jobs and intervals as the analysis finds them: exports and pictures.
#pragma once

#include "traces/analysis/analysis.hpp"
#include "traces/report/gantt.hpp"

namespace rtexec::traces {

/// Called in the order in which things ended. The lanes of bars are those of lanes_of(setup).
class Watcher {
 public:
  virtual ~Watcher() = default;
  virtual void setup(const RunSetup&) {}
  virtual void job(const JobBreakdown&) {}
  virtual void bar(const GanttBar&) {}
  virtual void mark(const GanttMark&) {}
  virtual void memory(const GanttStep&) {}
};

/// Tasks in the order of the set, cores in ascending order, the device, copy in, copy out (these two where chunks are
/// swapped).
[[nodiscard]] std::vector<GanttLane> lanes_of(const RunSetup& setup);

/// With lanes, names and capacity, and nothing on it.
[[nodiscard]] Gantt empty_gantt(const RunSetup& setup);

} // namespace rtexec::traces
