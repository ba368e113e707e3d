// How late a real-time thread runs that a timer releases, while every core is loaded: as the executive's release
// threads wait, and as cyclictest does, in turns. As in a run, deep idle states are held off and frequencies locked.
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
  std::vector<Duration> here = {}; // of each release
  std::vector<Duration> peer = {}; // of each wake-up of cyclictest, rounded up to 1 us; empty: it did not run
  Duration stolen{0};              // by a hypervisor, of what `here` was measured in
};

struct MeasuredLateness {
  std::vector<CoreLateness> cores; // at least one, each with releases
  std::string scheduling;          // "FIFO 90"
  std::string no_peer;             // why cyclictest did not run; empty: it did
  std::string without = {};        // what a run has, and this machine refused: "deep idle states: ..."
};

/// Errors: cancelled; refused: another run has the cores, or no thread may have real-time priority, with what to do.
[[nodiscard]] Result<MeasuredLateness> measure_lateness(const Subject& subject);

/// `subject`: its board says what admission charges, its machine what may be changed.
[[nodiscard]] Answer judge(const MeasuredLateness& measured, const Subject& subject);

/// The histogram (-h) that cyclictest printed, by thread, each wake-up rounded up to 1 us, and one beyond the histogram
/// as the longest. bad_input: there is none.
[[nodiscard]] Result<std::vector<std::vector<Duration>>> parse_cyclictest(std::string_view text, std::size_t threads);

} // namespace rtexec::bringup
