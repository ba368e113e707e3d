// The interface of an object that receives a recording's jobs and intervals from the analysis. Exports and pictures
// implement it.
#pragma once

#include "traces/analysis/analysis.hpp"
#include "traces/analysis/gantt.hpp"

namespace rtexec::traces {

/// The analysis calls the functions in the order in which jobs and intervals ended. A bar's lane is an index into
/// lanes_of(setup).
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
