// The verdict for people: first in one line, then what it supposes, the plan and what limits it, in a screen of 80
// columns.
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

/// In lines of 80 columns, those after the first indented. Names and commands stay whole, so that they can be copied.
void print_wrapped(std::ostream& out, const std::string& text, std::string_view indent = "  ");

/// What is known of a run on the set's machine, beside the plan.
struct Readiness {
  bool running = false;              // the verdict is of a run under way
  bool asked = false;                // the machine was asked for all that a run needs
  bool refused = false;              // by the machine: a run will not start
  std::vector<std::string> degraded; // what a run does without; of a machine that was not asked: empty
};

void print_verdict(std::ostream& out, const ResolvedSet& set, const Plan& plan, const Readiness& readiness = {});

/// How the WCETs of a profile were measured, a line for each task.
[[nodiscard]] std::string measured_name(const ProfileEntry& entry, const std::vector<ProfileEntry>& entries);
void print_measured(std::ostream& out, const std::vector<ProfileEntry>& entries);

/// What segments take of the device that whole jobs do not.
struct SegmentCost {
  double time = 0; // the share that is charged for decisions between them
  Bytes memory{0}; // for what lives across them
};
[[nodiscard]] SegmentCost segment_cost(const PlannedSet& whole, const PlannedSet& divided);

/// The verdict before any run, with the measured execution times that it rests on; of a set that is not proved also
/// what would prove it. `divided`: the set with the segments that it forbids; absent where it forbids none.
void print_verdict_and_way(std::ostream& out, const PlannedSet& planned, const Readiness& readiness,
                           const std::optional<PlannedSet>& divided);

} // namespace rtexec::command
