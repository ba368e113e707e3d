// What was observed, held against what was promised.
#pragma once

#include "traces/analysis/analysis.hpp"

#include <string>
#include <vector>

namespace rtexec::traces {

/// Response times above the plan's bounds, missed deadlines of promised tasks, execution times above the configured
/// WCETs, and reactions and ages of chains above their bounds. A breach that was seen stands, even where events were
/// lost.
[[nodiscard]] std::vector<Breach> breaches(const Analysis& analysis);

/// Why no figure of the task may be relied on; empty: they may. `beside_loss`: how many of its jobs ran while events
/// were lost; `stream_missing`: a core's events are missing from the beginning to the end.
[[nodiscard]] std::string why_invalid(const TaskAnalysis& task, std::uint64_t beside_loss, bool stream_missing);

} // namespace rtexec::traces
