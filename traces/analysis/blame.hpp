// Why a job, or a chain's reaction, took as long as it did, in one line for people.
#pragma once

#include "traces/analysis/recorded_statistics.hpp"

#include <string>
#include <vector>

namespace rtexec::traces {

/// Orders the job's shares by what they took beyond the usual, and words them. `tasks`: whose jobs the shares name.
void explain(JobBreakdown& job, const std::vector<TaskStatistics>& tasks);
/// The piece of the way that took longest, and what it is owed to.
void explain(ChainWay& way, const std::vector<TaskStatistics>& tasks);
/// Of a chain whose reactions are divided: where data waited most for a job's release, and what would shorten that.
/// Empty: that was less than a twentieth.
[[nodiscard]] std::string advice(const ChainAnalysis& chain, const std::vector<TaskStatistics>& tasks);

} // namespace rtexec::traces
