// A Gantt chart as one SVG file that needs nothing else: a lane for each task (responses, releases, deadlines, misses),
// for each core, for the device and for each direction of copies, and below them the swapped memory in use. What a bar
// or a mark is stands in its tooltip.
#pragma once

#include "traces/analysis/gantt.hpp"

#include <string>

namespace rtexec::traces {

/// Every bar and mark between `from` and `to` is drawn: a browser stays usable with about 20,000.
[[nodiscard]] std::string svg(const Gantt& gantt);

} // namespace rtexec::traces
