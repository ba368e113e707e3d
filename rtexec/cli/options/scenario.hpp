// The scenario of `rtexec simulate`: releases and executions as the command line specifies them.
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

/// A run to be simulated, and its task set.
struct Scenario {
  TaskSet tasks;
  simulator::Options run;
  std::optional<simulator::WorstCase> worst; // the result of a search
};

/// Returns the scenario, and shows the progress of a search. Fails with bad_input if options conflict, or if the file
/// of executions is invalid.
[[nodiscard]] Scenario scenario_of(const ScenarioOptions& options, const PlannedSet& planned);

/// Returns the duration given with an option; nullopt: the option is not given.
[[nodiscard]] std::optional<Duration> duration_of(const std::string& option, const std::string& text);

} // namespace rtexec::command
