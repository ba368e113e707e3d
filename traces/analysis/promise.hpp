// Finds observations that exceed promised bounds.
#pragma once

#include "traces/analysis/analysis.hpp"

#include <string>
#include <vector>

namespace rtexec::traces {

/// Returns all breaches: response times above the plan's bounds, missed deadlines of promised tasks, execution times
/// above the configured WCETs, and reactions and ages of chains above their bounds. An observed breach is valid even if
/// other events were lost.
[[nodiscard]] std::vector<Breach> breaches(const Analysis& analysis);

/// Returns the reason why no figure of the task is reliable; empty if the figures are reliable. `losses_meanwhile`:
/// number of the task's jobs that ran while events were lost. `stream_missing`: true if a core's events are missing
/// from the beginning to the end.
[[nodiscard]] std::string why_invalid(const TaskAnalysis& task, std::uint64_t losses_meanwhile, bool stream_missing);

} // namespace rtexec::traces
