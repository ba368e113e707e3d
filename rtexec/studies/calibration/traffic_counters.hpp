// Finds the counters of memory traffic for some cores of a machine. Events are tried in turn, and an error describes
// each.
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
  bool stand_in = false;                        // the event is no memory traffic
  CorunnerKind corunners = CorunnerKind::lines; // co-runners that cause the event
  [[nodiscard]] Bytes line() const { return choices.front().line; }
};

/// Finds counters of `event`; if it is empty, of the board's events, then of cache misses. Returns bad_input if there
/// is no such event, or no co-runner causes it. Returns refused, with a line for each tried event, if none counts on
/// every one of `cores`.
[[nodiscard]] Result<TrafficCounters> find_counters(const Board& board, const std::string& event,
                                                    std::span<const unsigned> cores,
                                                    const regulation::RegulatedMachine& machine);

/// A trial of an event on a core by sweeps of known length (hal::probe_counter). It counts the whole core, which
/// regulation prefers, or else single threads.
struct CounterTrial {
  unsigned core = 0;
  std::string event;
  bool counts = false;
  bool overflows = false; // it also signals overflows
  bool refused = false;   // it exists, but may not be opened
  std::string what;       // the trial and its result
};
/// Tries an event. `event` is one of those of `facts`, or another one.
[[nodiscard]] CounterTrial try_counter(const CounterFacts& facts, const std::string& event, unsigned core);

} // namespace rtexec::study
