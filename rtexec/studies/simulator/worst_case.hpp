// Searches for the releases under which some task responds latest in relation to its bound, or to its deadline if it
// has no bound. Makes of them a run that can be examined and repeated.
#pragma once

#include "rtexec/studies/simulator/adversary.hpp"

#include <cstdint>
#include <functional>

namespace rtexec::simulator {

struct Search {
  int attempts = 200;
  std::uint64_t seed = 1;
  bool early = false;          // executions may be shorter than WCETs
  Duration release_latency{0}; // maximum release latency, used if `early` is set
  Duration horizon{0};         // simulated time of each run; 0: four times the longest period
};

struct WorstCase {
  TaskSet tasks; // the tasks, with the releases that lead to the worst case; deadlines and all else are unchanged
  Options run;   // simulates it, from the start to the end of `job`, without observers
  policies::JobId job;
  Duration response{0};
  Duration bound{0}; // of the response; the deadline if there is none
};

/// Searches for a worst case. Without `early`, the listed releases alone repeat the run, which begins shortly before
/// the job. Calls `go_on` after each attempt; if it returns false, the worst case so far is used.
[[nodiscard]] WorstCase find_worst_case(const TaskSet& tasks, const Plan& plan, const Search& search,
                                        const std::function<bool(int done)>& go_on);

} // namespace rtexec::simulator
