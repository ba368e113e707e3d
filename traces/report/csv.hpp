// Figures as CSV (RFC 4180), a header line first: for spreadsheets and scripts. Lengths and instants are in
// nanoseconds.
#pragma once

#include "traces/analysis/analysis.hpp"

#include <ostream>
#include <string>
#include <vector>

namespace rtexec::traces {

/// A row per job, as the analysis goes: task, job, nominal_ns (after the start of the run), response_ns, deadline_ns
/// (relative), outcome, and one column per cause, whose sum is the response. `out` and `setup` outlive it; whether it
/// took everything is the caller's to ask.
class JobsCsv {
 public:
  JobsCsv(std::ostream& out, const RunSetup& setup);
  void add(const JobBreakdown& job);

 private:
  std::ostream& out_;
  const RunSetup& setup_;          // its start is told with the first release
  std::vector<std::string> tasks_; // names as they stand in the file
};

/// A row per task and stage. Of a pWCET the value at the smallest exceedance, by peaks over threshold; empty where
/// there is none.
void summary_csv(const Analysis& analysis, std::ostream& out);

} // namespace rtexec::traces
