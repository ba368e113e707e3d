// Measures how late a real-time thread runs that a timer releases, while every core is loaded. Threads wait in turns as
// the executive's release threads do, and as cyclictest does. As in a run, deep idle states are held off and
// frequencies locked.
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
  std::vector<Duration> here = {}; // lateness of each release
  std::vector<Duration> peer = {}; // lateness of each wake-up of cyclictest, rounded up to 1 us; empty: it did not run
  Duration stolen{0};              // time that a hypervisor stole while `here` was measured
};

struct MeasuredLateness {
  std::vector<CoreLateness> cores; // at least one, each with releases
  std::string scheduling;          // "FIFO 90"
  std::string no_peer;             // why cyclictest did not run; empty if it did
  std::string without = {};        // what a run has and this machine refused: "deep idle states: ..."
};

/// Measures the lateness. Returns cancelled; or refused, with what to do, if another run has the cores or no thread may
/// have real-time priority.
[[nodiscard]] Result<MeasuredLateness> measure_lateness(const Subject& subject);

/// Judges the lateness. The board of `subject` says what admission charges, its machine what may be changed.
[[nodiscard]] Answer judge(const MeasuredLateness& measured, const Subject& subject);

/// Parses the histogram (-h) that cyclictest printed. Returns the wake-ups by thread, each rounded up to 1 us; one
/// beyond the histogram counts as the longest. Returns bad_input if there is no histogram.
[[nodiscard]] Result<std::vector<std::vector<Duration>>> parse_cyclictest(std::string_view text, std::size_t threads);

} // namespace rtexec::bringup
