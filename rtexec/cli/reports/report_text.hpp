// What commands print for people: tables, the plan, the report.
#pragma once

#include <rtexec/executive.hpp>
#include "rtexec/cli/text/table.hpp"

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace rtexec::command {

using report::Table;
using report::Tone;
using report::Toned;

/// A response time against its deadline, ten cells wide.
[[nodiscard]] std::string bar(Duration response, Duration deadline);

/// "first", "device", "last".
[[nodiscard]] const char* part_name(Part part);
/// Of a task's row: bad where it missed deadlines, a warning where parts were above their WCETs.
[[nodiscard]] Tone tone_of(std::uint64_t missed, const PartCounts& above_wcet);

/// The reactions of a chain that runs.
struct Reactions {
  std::string chain;
  Duration longest{0};
  std::optional<Duration> bound;
  std::uint64_t count = 0, above = 0;
};
/// Below a table of `tasks` in `room`, where all of both has room.
void print_below(std::ostream& out, const std::vector<Reactions>& chains, std::size_t tasks, report::Room room);

/// All of it, and every test with its formula and numbers.
void print_plan(std::ostream& out, const ResolvedSet& set, const Plan& plan);
/// What each test of the device alone says, side by side.
void print_comparison(std::ostream& out, const std::vector<TestVerdict>& tests);
/// What the backing store fell back to; nothing where it did not.
void print_fallback(std::ostream& out, const SwapReport& swap);
/// Nothing where it is steady.
void print_clock(std::ostream& out, const ClockReport& clock);
/// Nothing where nothing was.
void print_stolen(std::ostream& out, const std::vector<StolenReport>& stolen);
void print_report(std::ostream& out, const Report& report);
/// Whether every real-time deadline and every bound was kept, and no WCET ended the run.
[[nodiscard]] bool kept(const Report& report);

/// Standard output, or standard error when JSON goes to standard output.
[[nodiscard]] std::ostream& text_output(const std::string& json_file);

} // namespace rtexec::command
