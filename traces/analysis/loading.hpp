// What a task's loading before the first release took, and how far first contents were prefetched while others were
// made.
#pragma once

#include "traces/analysis/analysis_observer.hpp"
#include "traces/reading/recorded_setup.hpp"

namespace rtexec::traces {

[[nodiscard]] ContentsAnalysis contents_of(const TaskSetup& task);

/// Tells bars: of each task that was loaded, of each buffer that got its first contents, and of each tile's prefetch
/// and making; those of one lane in the order of their ends. `lanes` are lanes_of(setup).
void show_loading(const RunSetup& setup, const std::vector<GanttLane>& lanes, AnalysisObserver& observer);

} // namespace rtexec::traces
