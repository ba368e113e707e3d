// The scenario of `rtexec simulate`: the releases and execution times that the command line specifies.
#pragma once

#include <rtexec/planning.hpp>
#include "rtexec/cli/options/options.hpp"
#include "rtexec/studies/simulator/worst_case.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace rtexec::command {

struct ScenarioOptions {
  std::string duration;
  std::string releases = "periodic";
  std::string execution = "wcet";
  std::optional<std::uint64_t> seed;
  int attempts = 200;
};

void add_scenario(const Command& command, ScenarioOptions& options);

/// The options of a simulated run, and its task set.
struct Scenario {
  TaskSet tasks;
  simulator::Options run;
  std::optional<simulator::WorstCase> worst; // set if the scenario is the result of a search
};

/// Returns the scenario. Shows the progress of a search for the worst case. Throws Failed (bad_input) if options
/// conflict, or the file of execution times is invalid.
[[nodiscard]] Scenario scenario_of(const ScenarioOptions& options, const PlannedSet& planned);

/// Parses the duration of an option. Returns nullopt if the option is not given.
[[nodiscard]] std::optional<Duration> duration_of(const std::string& option, const std::string& text);

} // namespace rtexec::command
