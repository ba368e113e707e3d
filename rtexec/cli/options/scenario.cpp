#include "rtexec/cli/options/scenario.hpp"

#include "config/base/must.hpp"
#include "config/base/text.hpp"
#include "rtexec/cli/options/options.hpp"
#include "rtexec/cli/terminal/progress.hpp"
#include "rtexec/studies/simulator/release_patterns.hpp"

#include <filesystem>
#include <ostream>

namespace rtexec::command {

namespace {

constexpr Duration default_duration = std::chrono::seconds(10);
constexpr std::uint64_t default_seed = 1;

/// The parsed value of --execution.
struct Execution {
  bool uniform = false;
  double least = 0; // minimum execution time as a fraction of the WCET
  std::filesystem::path record;
};

Execution execution_of(const std::string& text) {
  constexpr std::string_view with_least = "uniform:";
  if (text == "wcet") return Execution{};
  if (text == "uniform") return Execution{.uniform = true, .least = 0, .record = {}};
  if (!text.starts_with(with_least)) return Execution{.uniform = false, .least = 0, .record = text};
  const auto least = config::number<double>(std::string_view(text).substr(with_least.size()));
  if (!least || !(*least >= 0 && *least <= 1))
    give_up(Errc::bad_input, "--execution " + text + ": the minimum share of the WCET must be a number from 0 to 1");
  return {.uniform = true, .least = *least, .record = {}};
}

Scenario as_asked(const ScenarioOptions& options, const PlannedSet& planned, Duration duration) {
  Scenario scenario{.tasks = planned.tasks, .run = {}, .worst = {}};
  scenario.run.horizon = duration;
  const std::uint64_t seed = options.seed.value_or(default_seed);
  scenario.run.release = options.releases == "sporadic" ? simulator::sporadic_releases(scenario.tasks, seed)
                                                        : simulator::listed_releases(scenario.tasks);
  const auto execution = execution_of(options.execution);
  if (execution.uniform) {
    scenario.run.execution = simulator::uniform_executions(planned.plan, execution.least, seed);
    scenario.run.co_run_execution = simulator::uniform_co_run_executions(planned.plan, execution.least, seed);
  }
  if (execution.record.empty()) return scenario;
  auto recorded = simulator::read_executions(execution.record, scenario.tasks);
  if (!recorded) give_up(recorded.error().code, "--execution: " + recorded.error().what);
  scenario.run.execution = simulator::recorded_executions(planned.plan, std::move(*recorded), options.seed);
  return scenario;
}

Scenario worst_case(const ScenarioOptions& options, const PlannedSet& planned, std::optional<Duration> duration) {
  if (options.execution != "wcet" && options.execution != "uniform")
    give_up(Errc::bad_input,
            "--execution " + options.execution +
                ": --releases adversarial chooses execution times itself: use wcet, or uniform to allow shorter ones");
  const StopRequest stop;
  Progress progress(&stop);
  const simulator::Search search{.attempts = options.attempts,
                                 .seed = options.seed.value_or(default_seed),
                                 .early = options.execution == "uniform",
                                 .release_latency = planned.board.release_latency,
                                 .horizon = duration.value_or(Duration{0})};
  auto found = simulator::find_worst_case(planned.tasks, planned.plan, search, [&](int done) {
    return progress("searching", static_cast<std::uint64_t>(done), static_cast<std::uint64_t>(options.attempts),
                    "attempts");
  });
  Scenario scenario{.tasks = found.tasks, .run = found.run, .worst = {}};
  scenario.worst = std::move(found);
  return scenario;
}

} // namespace

std::optional<Duration> duration_of(const std::string& option, const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(value_of(option, text, parse_duration));
}

Scenario scenario_of(const ScenarioOptions& options, const PlannedSet& planned) {
  const auto given = duration_of("--duration", options.duration);
  if (options.releases == "adversarial") return worst_case(options, planned, given);
  return as_asked(options, planned, given.value_or(planned.tasks.executive.duration.value_or(default_duration)));
}

void add_scenario(const Command& command, ScenarioOptions& options) {
  command.option("--duration", options.duration, "DURATION",
                 "Virtual length of the run, instead of the task set's duration (default: 10s; with --releases "
                 "adversarial: four times the longest period)");
  command
      .option("--releases", options.releases, "HOW",
              "Release times: periodic: one release in each period, or the task's key releases; sporadic: random times "
              "between releases, each at least a period; adversarial: a search for the release times with the longest "
              "response time of a task")
      .default_shown()
      .one_of({"periodic", "sporadic", "adversarial"});
  command
      .option("--execution", options.execution, "HOW",
              "Execution times: wcet: each part takes its WCET; uniform: random, between 0 and the WCET; uniform:0.5: "
              "random, between half of the WCET and the WCET; FILE.csv: the device parts that `rtexec run --jobs` "
              "recorded, in their order, or drawn at random with --seed")
      .default_shown();
  command.option("--seed", options.seed, "N", "Seed of all random numbers: the same seed gives the same run");
  command
      .option("--attempts", options.attempts, "N", "Number of simulated runs of the search with --releases adversarial")
      .default_shown()
      .within(1, 1'000'000);
}

} // namespace rtexec::command
