// What counts the memory traffic of some cores of a machine: events are tried in turn, and an error tells of each.
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/result.hpp>
#include "hal/bandwidth_counter.hpp"
#include "rtexec/runtime/regulation/regulation.hpp"
#include "rtexec/studies/calibration/corunner.hpp"

#include <span>
#include <string>
#include <vector>

namespace rtexec::study {

struct TrafficCounters {
  std::vector<hal::CounterChoice> choices;      // one for each domain
  std::string event;                            // of all domains: "r3", "r17 and r3"
  bool stand_in = false;                        // the event is no memory traffic
  CorunnerKind corunners = CorunnerKind::lines; // that cause it
  [[nodiscard]] Bytes line() const { return choices.front().line; }
};

/// Of `event`; where it is empty, of the board's counters, then of cache misses. bad_input: no such event, or no
/// co-runner causes it; refused: none counts on every one of `cores`, with a line for each that was tried.
[[nodiscard]] Result<TrafficCounters> find_counters(const Board& board, const std::string& event,
                                                    std::span<const unsigned> cores,
                                                    const regulation::RegulatedMachine& machine);

/// An event that was tried on a core by sweeps of known length (hal::probe_counter): of the whole core, which
/// regulation prefers, or else of single threads.
struct CounterTrial {
  unsigned core = 0;
  std::string event;
  bool counts = false;
  bool overflows = false; // and tells of them
  bool refused = false;   // it is there, and may not be opened
  std::string what;       // what was tried, and what came of it
};
/// `event`: one of those of `facts`, or another one.
[[nodiscard]] CounterTrial try_counter(const CounterFacts& facts, const std::string& event, unsigned core);

} // namespace rtexec::study
