// Explains to people, in one line, why a job or a chain's reaction took as long as it did.
#pragma once

#include "traces/analysis/recorded_statistics.hpp"

#include <string>
#include <vector>

namespace rtexec::traces {

/// Orders the job's shares by their excess over the usual, and describes the reason in one line. `tasks` contains the
/// tasks of the jobs that the shares name.
void explain(JobBreakdown& job, const std::vector<TaskStatistics>& tasks);
/// Describes the longest piece of the path, and its cause, in one line.
void explain(ChainWay& way, const std::vector<TaskStatistics>& tasks);
/// Returns where data waited most for a job's release, and what would shorten that wait, for a chain with divided
/// reactions. Returns an empty text if the wait was less than a twentieth.
[[nodiscard]] std::string advice(const ChainAnalysis& chain, const std::vector<TaskStatistics>& tasks);

} // namespace rtexec::traces
