// Finds counters of memory traffic for some cores of a machine. Events are tried one after the other. If none counts,
// the error describes each trial.
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
  std::string event;                            // event of all domains: "r3", "r17 and r3"
  bool stand_in = false;                        // the event is a substitute that counts no memory traffic
  CorunnerKind corunners = CorunnerKind::lines; // the kind of co-runner that causes the event
  [[nodiscard]] Bytes line() const { return choices.front().line; }
};

/// Finds counters of `event`. If it is empty, tries the board's events, and then cache misses. Returns bad_input if
/// there is no such event, or no co-runner causes it. Returns refused, with a line for each tried event, if none
/// counts on every core of `cores`.
[[nodiscard]] Result<TrafficCounters> find_counters(const Board& board, const std::string& event,
                                                    std::span<const unsigned> cores,
                                                    const regulation::RegulatedMachine& machine);

/// The result of trying an event on a core with sweeps of known length (hal::probe_counter). The trial counts the
/// whole core, which regulation prefers. If this is not possible, it counts single threads.
struct CounterTrial {
  unsigned core = 0;
  std::string event;
  bool counts = false;
  bool overflows = false; // the counter also signals overflows
  bool refused = false;   // the event exists, but this process may not open it
  std::string what;       // description of the trial and its result
};
/// Tries `event` on `core`. The event need not be one of `facts`, the events that the board's file names.
[[nodiscard]] CounterTrial try_counter(const CounterFacts& facts, const std::string& event, unsigned core);

} // namespace rtexec::study
