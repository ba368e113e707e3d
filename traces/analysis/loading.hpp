// Shows how long the loading of tasks takes before the first release, and how prefetching and initialising of buffers
// overlap.
#pragma once

#include "traces/analysis/analysis_observer.hpp"
#include "traces/reading/recorded_setup.hpp"

namespace rtexec::traces {

[[nodiscard]] ContentsAnalysis contents_of(const TaskSetup& task);

/// Reports bars to `observer`: for each loaded task, for each initialised buffer, and for the prefetch and the
/// initialisation of each tile. The bars of one lane come in the order of their ends. `lanes` must be lanes_of(setup).
void show_loading(const RunSetup& setup, const std::vector<GanttLane>& lanes, AnalysisObserver& observer);

} // namespace rtexec::traces
