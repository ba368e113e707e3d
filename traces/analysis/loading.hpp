// The time that a task's loading takes before the first release, and the overlap of prefetching and initialising
// first contents.
#pragma once

#include "traces/analysis/analysis_observer.hpp"
#include "traces/reading/recorded_setup.hpp"

namespace rtexec::traces {

[[nodiscard]] ContentsAnalysis contents_of(const TaskSetup& task);

/// Reports bars to `observer`: for each task that was loaded, each buffer that got its first contents, and each tile's
/// prefetch and initialisation. The bars of one lane come in the order of their ends. `lanes` must be lanes_of(setup).
void show_loading(const RunSetup& setup, const std::vector<GanttLane>& lanes, AnalysisObserver& observer);

} // namespace rtexec::traces
