// Texts that commands print for people: tables, the plan and the report of a run.
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

/// Returns a bar of ten cells that shows the response time as a fraction of the deadline.
[[nodiscard]] std::string bar(Duration response, Duration deadline);

/// Returns the name of a part for people: "first", "device" or "last".
[[nodiscard]] const char* part_name(Part part);
/// Returns the tone of a task's row: bad if it missed deadlines, a warning if parts exceeded their WCETs.
[[nodiscard]] Tone tone_of(std::uint64_t missed, const PartCounts& above_wcet);

/// The reaction times of a chain during a run.
struct Reactions {
  std::string chain;
  Duration longest{0};
  std::optional<Duration> bound;
  std::uint64_t count = 0, above = 0;
};
/// Prints the reactions of chains below a table of `tasks` tasks. Prints nothing if table and chains together do not
/// fit into `room`.
void print_below(std::ostream& out, const std::vector<Reactions>& chains, std::size_t tasks, report::Room room);

/// Prints the whole plan, and every test with its formula and numbers.
void print_plan(std::ostream& out, const ResolvedSet& set, const Plan& plan);
/// Prints the verdicts of the tests for the device, which ignore the cores, side by side.
void print_comparison(std::ostream& out, const std::vector<TestVerdict>& tests);
/// Prints the slower method that the backing store uses, and the reason. Prints nothing if the store uses the fastest
/// method.
void print_fallback(std::ostream& out, const SwapReport& swap);
/// Prints the range of the clock's frequency during the run. Prints nothing if the frequency was constant.
void print_clock(std::ostream& out, const ClockReport& clock);
/// Prints the time that a hypervisor stole from cores. Prints nothing if no time was stolen.
void print_stolen(std::ostream& out, const std::vector<StolenReport>& stolen);
void print_report(std::ostream& out, const Report& report);
/// True if every real-time deadline and every bound was kept, and no exceeded WCET ended the run.
[[nodiscard]] bool kept(const Report& report);

/// Returns standard output, or standard error if JSON goes to standard output.
[[nodiscard]] std::ostream& text_output(const std::string& json_file);

} // namespace rtexec::command
