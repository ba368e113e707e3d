// Finds counters of memory traffic for some cores of a machine. Events are tried one after the other. If no event
// counts, the error describes each attempt.
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
  std::vector<hal::CounterChoice> choices; // the counter of each domain
  std::string event;                       // the event of all domains: "r3", "r17 and r3"
  bool stand_in = false; // true if the event is a substitute that does not count memory traffic itself
  CorunnerKind corunners = CorunnerKind::lines; // the kind of co-runner that causes the event
  [[nodiscard]] Bytes line() const { return choices.front().line; }
};

/// Finds counters of `event`. If `event` is empty, tries the board's events, and then cache misses. Returns bad_input
/// if there is no such event, or if no co-runner causes it. Returns refused if no event counts on every core of
/// `cores`; the error has a line for each tried event.
[[nodiscard]] Result<TrafficCounters> find_counters(const Board& board, const std::string& event,
                                                    std::span<const unsigned> cores,
                                                    const regulation::RegulatedMachine& machine);

/// The result of trying an event on a core with sweeps of known length (hal::probe_counter). The trial counts events of
/// the whole core, which is best for regulation. If counting the whole core is not possible, the trial counts events of
/// single threads.
struct CounterTrial {
  unsigned core = 0;
  std::string event;
  bool counts = false;
  bool overflows = false; // true if the counter also signals overflows
  bool refused = false;   // true if the event exists, but this process may not open it
  std::string what;       // description of the trial and its result
};
/// Tries `event` on `core`. `facts`: the events that the board's file names; `event` may be another event.
[[nodiscard]] CounterTrial try_counter(const CounterFacts& facts, const std::string& event, unsigned core);

} // namespace rtexec::study
