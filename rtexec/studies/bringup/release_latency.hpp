// Measures how late a real-time thread runs after the timer that releases it, while every core is loaded. Threads that
// wait like the executive's release threads are measured alternately with cyclictest. As in a run of the executive,
// deep idle states are disabled and frequencies are locked.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/units.hpp>
#include "rtexec/studies/bringup/item.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace rtexec::bringup {

struct CoreLateness {
  unsigned core = 0;
  std::vector<Duration> here = {}; // the lateness of each release of this program's threads
  /// The lateness of each wake-up of cyclictest, rounded up to 1 us; empty: cyclictest did not run
  std::vector<Duration> peer = {};
  Duration stolen{0}; // the time that a hypervisor stole while `here` was measured
};

struct MeasuredLateness {
  std::vector<CoreLateness> cores; // at least one, each with releases
  std::string scheduling;          // for example "FIFO 90"
  std::string no_peer;             // the reason why cyclictest did not run; empty if it ran
  std::string without = {};        // settings of a run that this machine refused: "deep idle states: ..."
};

/// Measures the lateness. Returns cancelled if the user stopped it. Returns refused, with advice, if another run has
/// claimed the cores, or if no thread may have real-time priority.
[[nodiscard]] Result<MeasuredLateness> measure_lateness(const Subject& subject);

/// Compares the lateness with the release latency in the board's file, which admission uses. If the lateness is larger,
/// the answer contains advice on what to change on this machine.
[[nodiscard]] Answer judge(const MeasuredLateness& measured, const Subject& subject);

/// Parses the histogram that cyclictest printed (option -h). Returns the latencies of the wake-ups by thread, each
/// rounded up to 1 us. A latency beyond the range of the histogram is returned as the thread's longest latency. Returns
/// bad_input if there is no histogram.
[[nodiscard]] Result<std::vector<std::vector<Duration>>> parse_cyclictest(std::string_view text, std::size_t threads);

} // namespace rtexec::bringup
