// Searches the releases under which some task responds latest in relation to its bound, or to its deadline where it has
// none, and makes of them a run that can be looked at and repeated.
#pragma once

#include "rtexec/studies/simulator/adversary.hpp"

#include <cstdint>
#include <functional>

namespace rtexec::simulator {

struct Search {
  int attempts = 200;
  std::uint64_t seed = 1;
  bool early = false;          // executions may be shorter than WCETs
  Duration release_latency{0}; // and, with early, releases as late as this
  Duration horizon{0};         // of each run; 0: four times the longest period
};

struct WorstCase {
  TaskSet tasks; // with the releases that lead to it, listed; deadlines and all else are as before
  Options run;   // simulates it, from the start to the end of `job`, without observers
  policies::JobId job;
  Duration response{0};
  Duration bound{0}; // of its response, or its deadline
};

/// Without `early` the listed releases alone repeat the run, which begins shortly before the job. `go_on` is asked
/// after each attempt; on false the worst case so far is taken.
[[nodiscard]] WorstCase find_worst_case(const TaskSet& tasks, const Plan& plan, const Search& search,
                                        const std::function<bool(int done)>& go_on);

} // namespace rtexec::simulator
