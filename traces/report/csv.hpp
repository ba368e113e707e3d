// Writes figures as CSV (RFC 4180) with a header line, for spreadsheets and scripts. Lengths and instants are in
// nanoseconds.
#pragma once

#include "traces/analysis/analysis.hpp"

#include <ostream>
#include <string>
#include <vector>

namespace rtexec::traces {

/// Writes a row per job as the analysis proceeds. The columns are task, job, nominal_ns (after the start of the run),
/// response_ns, deadline_ns (relative), outcome, and one per cause, whose sum is the response. `out` and `setup` must
/// outlive it. The caller must check `out` for errors.
class JobsCsv {
 public:
  JobsCsv(std::ostream& out, const RunSetup& setup);
  void add(const JobBreakdown& job);

 private:
  std::ostream& out_;
  const RunSetup& setup_;          // its start is known from the first release on
  std::vector<std::string> tasks_; // names as cells of the file
};

/// Writes a row per task and stage. The pWCET is the value at the smallest exceedance probability, by the method of
/// peaks over threshold. Its cells are empty if there is no pWCET.
void summary_csv(const Analysis& analysis, std::ostream& out);

} // namespace rtexec::traces
