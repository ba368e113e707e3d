// The interface for users of a recording's jobs and intervals, such as exports and pictures.
#pragma once

#include "traces/analysis/analysis.hpp"
#include "traces/analysis/gantt.hpp"

namespace rtexec::traces {

/// The analysis calls its functions in the order in which jobs and intervals ended. The lane of a bar is an index into
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
