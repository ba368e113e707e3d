// Writes figures as CSV (RFC 4180) with a header line, for spreadsheets and scripts. Lengths and instants are in
// nanoseconds.
#pragma once

#include "traces/analysis/analysis.hpp"

#include <ostream>
#include <string>
#include <vector>

namespace rtexec::traces {

/// Writes a row for each job during the analysis. The columns are task, job, nominal_ns (after the start of the run),
/// response_ns, deadline_ns (relative), outcome, and one column for each cause. The causes of a job sum to its
/// response. `out` and `setup` must outlive this object. The caller must check `out` for errors.
class JobsCsv {
 public:
  JobsCsv(std::ostream& out, const RunSetup& setup);
  void add(const JobBreakdown& job);

 private:
  std::ostream& out_;
  const RunSetup& setup_;          // its `start` is known from the first release on
  std::vector<std::string> tasks_; // names as cells of the file
};

/// Writes a row for each stage of each task. The pWCET is the value at the smallest exceedance probability, by the
/// method of peaks over threshold. The pWCET cells are empty if there is no pWCET.
void summary_csv(const Analysis& analysis, std::ostream& out);

} // namespace rtexec::traces
