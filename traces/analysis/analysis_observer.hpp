// Whoever wants to see a recording's jobs and intervals as the analysis finds them: exports and pictures.
#pragma once

#include "traces/analysis/analysis.hpp"
#include "traces/analysis/gantt.hpp"

namespace rtexec::traces {

/// Called in the order in which things ended. The lanes of bars are those of lanes_of(setup).
class AnalysisObserver {
 public:
  virtual ~AnalysisObserver() = default;
  virtual void setup(const RunSetup&) {}
  virtual void job(const JobBreakdown&) {}
  virtual void bar(const GanttBar&) {}
  virtual void mark(const GanttMark&) {}
  virtual void memory(const GanttStep&) {}
};

} // namespace rtexec::traces
