// The verdict for people: first one line, then its assumptions, the plan and its limits, on a screen of 80 columns.
#pragma once

#include <rtexec/plan.hpp>
#include <rtexec/planning.hpp>
#include <rtexec/profile.hpp>
#include <rtexec/resolved_set.hpp>
#include <rtexec/units.hpp>

#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rtexec::command {

/// Prints lines of 80 columns; all but the first are indented. Names and commands are not broken, so that they can be
/// copied.
void print_wrapped(std::ostream& out, const std::string& text, std::string_view indent = "  ");

/// Facts about a run on the set's machine, in addition to the plan.
struct Readiness {
  bool running = false;              // the verdict is of a run under way
  bool asked = false;                // the machine was checked for all that a run needs
  bool refused = false;              // the machine refuses: a run will not start
  std::vector<std::string> degraded; // requirements that a run lacks; empty if the machine was not checked
};

void print_verdict(std::ostream& out, const ResolvedSet& set, const Plan& plan, const Readiness& readiness = {});

/// Returns the name of a measured task, with its memory policy if it was measured under several. print_measured()
/// prints how the WCETs of a profile were measured, a line for each task.
[[nodiscard]] std::string measured_name(const ProfileEntry& entry, const std::vector<ProfileEntry>& entries);
void print_measured(std::ostream& out, const std::vector<ProfileEntry>& entries);

/// The cost of segments on the device, compared with whole jobs.
struct SegmentCost {
  double time = 0; // share of the device's time for decisions between segments
  Bytes memory{0}; // memory that is live across segments
};
[[nodiscard]] SegmentCost segment_cost(const PlannedSet& whole, const PlannedSet& divided);

/// Prints the verdict before any run, with the measured execution times that it uses. If the set is not proved, prints
/// what would prove it. `divided`: the set with the segments that it forbids; nullopt if it forbids none.
void print_verdict_and_way(std::ostream& out, const PlannedSet& planned, const Readiness& readiness,
                           const std::optional<PlannedSet>& divided);

} // namespace rtexec::command
