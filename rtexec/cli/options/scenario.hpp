// What `rtexec simulate` simulates: releases and executions as the command line asks for them.
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

/// A run to be simulated, and of which task set.
struct Scenario {
  TaskSet tasks;
  simulator::Options run;
  std::optional<simulator::WorstCase> worst; // of a search
};

/// Shows how far a search is. bad_input: options that do not go together, a file of executions that is none.
[[nodiscard]] Scenario scenario_of(const ScenarioOptions& options, const PlannedSet& planned);

/// Of an option; absent where it is not given.
[[nodiscard]] std::optional<Duration> duration_of(const std::string& option, const std::string& text);

} // namespace rtexec::command
