// Searches for the releases under which some task responds as late as possible. Lateness is relative to the task's
// response bound or, if it has none, to its deadline. The result is a run that can be examined and repeated.
#pragma once

#include "rtexec/studies/simulator/adversary.hpp"

#include <cstdint>
#include <functional>

namespace rtexec::simulator {

struct Search {
  int attempts = 200;
  std::uint64_t seed = 1;
  bool early = false;          // true: the search may also choose execution times below the WCETs
  Duration release_latency{0}; // maximum release latency, used if `early` is set
  Duration horizon{0};         // simulated time of each run; 0: four times the longest period
};

struct WorstCase {
  TaskSet tasks; // the tasks of the set with the releases that lead to the worst case; all else is unchanged
  Options run;   // simulates the run from its start to the end of `job`, without observers
  policies::JobId job;
  Duration response{0};
  Duration bound{0}; // response bound of the task; its deadline if it has none
};

/// Searches for a worst case, with the adversary (adversary.hpp). Calls `go_on` with the number of attempts after each
/// attempt. If `go_on` returns false, the search ends with the worst case found so far.
///
/// If `search.early` is false, all parts take their WCETs. Then the releases in WorstCase::tasks are sufficient to
/// repeat the run, and the repeated run begins shortly before the worst job (WorstCase::job). If `search.early` is
/// true, the options in WorstCase::run are needed, too.
[[nodiscard]] WorstCase find_worst_case(const TaskSet& tasks, const Plan& plan, const Search& search,
                                        const std::function<bool(int done)>& go_on);

} // namespace rtexec::simulator
