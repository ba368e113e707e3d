// The verdict for people, on a screen of 80 columns: first one line, then its assumptions, the plan and the limits of
// the proof.
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

/// Prints lines of at most 80 columns. All lines except the first are indented. Names and commands are not broken, so
/// that they can be copied.
void print_wrapped(std::ostream& out, const std::string& text, std::string_view indent = "  ");

/// Facts about a run on the set's machine that the plan does not contain.
struct Readiness {
  bool running = false;              // true: the verdict is about a run in progress
  bool asked = false;                // true: the machine was checked for everything that a run needs
  bool refused = false;              // true: the machine refuses a requirement, so that a run would not start
  std::vector<std::string> degraded; // requirements that the machine does not fulfil; empty if not checked
};

void print_verdict(std::ostream& out, const ResolvedSet& set, const Plan& plan, const Readiness& readiness = {});

/// measured_name() returns the name of a measured task, with its memory policy if the task was measured under several
/// policies. print_measured() prints how the WCETs of a profile were measured, one line for each task.
[[nodiscard]] std::string measured_name(const ProfileEntry& entry, const std::vector<ProfileEntry>& entries);
void print_measured(std::ostream& out, const std::vector<ProfileEntry>& entries);

/// The cost of executing jobs in segments, compared with executing whole jobs.
struct SegmentCost {
  double time = 0; // share of the device's time that decisions between segments take
  Bytes memory{0}; // memory that must be kept between segments
};
[[nodiscard]] SegmentCost segment_cost(const PlannedSet& whole, const PlannedSet& divided);

/// Prints the verdict before any run, and how the WCETs that the verdict relies on were measured. If the set is not
/// proved, prints changes that would prove it. `divided`, for comparison, is a plan whose jobs may be divided into
/// segments although the task set forbids it; nullopt: no such plan.
void print_verdict_and_way(std::ostream& out, const PlannedSet& planned, const Readiness& readiness,
                           const std::optional<PlannedSet>& divided);

} // namespace rtexec::command
