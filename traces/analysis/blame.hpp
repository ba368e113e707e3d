// Explains in one line why a job or a chain's reaction took as long as it did.
#pragma once

#include "traces/analysis/recorded_statistics.hpp"

#include <string>
#include <vector>

namespace rtexec::traces {

/// Sets Share::usual of each share of the job's response time, and sorts the shares by the excess of their time over
/// this value, the largest excess first. Sets `job.blame` to one line that says why the job took so long. `tasks` must
/// contain the tasks of all jobs that the shares name.
void explain(JobBreakdown& job, const std::vector<TaskStatistics>& tasks);
/// Sets `path.blame`, one line that names the longest piece of the reaction's path and its cause.
void explain(ChainPath& path, const std::vector<TaskStatistics>& tasks);
/// Returns a text that names the task whose release the chain's data awaited longest, and says how to shorten that
/// wait. Requires `chain.all`, the division of the reactions. Returns an empty text if the wait was less than a
/// twentieth of the mean reaction.
[[nodiscard]] std::string advice(const ChainAnalysis& chain, const std::vector<TaskStatistics>& tasks);

} // namespace rtexec::traces
