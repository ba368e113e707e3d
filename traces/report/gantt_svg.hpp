// A Gantt chart as one self-contained SVG file. It has a lane for each task (responses, releases, deadlines, misses),
// for each core, for the device and for each direction of copies. Below the lanes it shows the swapped memory in use.
// Tooltips describe the bars and marks.
#pragma once

#include "traces/analysis/gantt.hpp"

#include <string>

namespace rtexec::traces {

/// Draws every bar and mark between `from` and `to`. A browser stays usable with about 20,000 bars and marks.
[[nodiscard]] std::string svg(const Gantt& gantt);

} // namespace rtexec::traces
