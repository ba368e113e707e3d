#include "config/names.hpp"
#include "config/text.hpp"
#include "rtexec/command/command.hpp"
#include "rtexec/command/gantt.hpp"
#include "rtexec/json/json.hpp"
#include "rtexec/command/scenario.hpp"
#include "rtexec/command/task_set_file.hpp"
#include "rtexec/command/text.hpp"
#include "rtexec/simulator/recorder.hpp"
#include "rtexec/simulator/tracer.hpp"
#include "traces/report/gantt_svg.hpp"
#include "traces/recording/session.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <ostream>

namespace rtexec::command {

namespace {

struct Options {
  TaskSetFile set;
  std::string machine;
  ScenarioOptions scenario;
  std::string gantt, from, to;
  std::string trace;
  std::string json;
};

// ---- what comes of it ----

std::vector<std::string> texts_of(const std::vector<Duration>& releases) {
  std::vector<std::string> texts;
  for (const Duration release : releases) texts.push_back(to_string(release));
  return texts;
}

void print_worst(std::ostream& out, const Options& options, const simulator::WorstCase& worst) {
  constexpr std::size_t most_listed = 400;
  const Task& task = worst.tasks.tasks[worst.job.task];
  out << "The latest response found: job " << worst.job.number << " of task '" << task.name << "' took "
      << readable(worst.response) << " of " << readable(worst.bound) << "; others may be later\n";
  std::size_t listed = 0;
  for (const Task& each : worst.tasks.tasks) listed += each.releases->size();
  if (options.scenario.execution == "uniform")
    out << "Some executions, transfers and release latencies in it are shorter than they may be: releases alone do not "
           "repeat it\n";
  else if (listed > most_listed) out << listed << " releases repeat it: --json FILE lists them\n";
  else
    out << "These keys of the task set repeat it:\n  [executive] duration = \"" << to_string(worst.run.horizon)
        << "\"\n";
  if (options.scenario.execution == "uniform" || listed > most_listed) return;
  for (const Task& each : worst.tasks.tasks) {
    out << "  " << each.name << ": releases = [";
    const char* comma = "";
    for (const std::string& text : texts_of(*each.releases))
      out << std::exchange(comma, ", ") << config::toml_string(text);
    out << "]\n";
  }
}

nlohmann::json to_json(const Options& options, const simulator::WorstCase& worst) {
  nlohmann::json releases = nlohmann::json::object();
  for (const Task& task : worst.tasks.tasks) releases[task.name] = texts_of(*task.releases);
  return {{"task", worst.tasks.tasks[worst.job.task].name},
          {"job", worst.job.number},
          {"response_ns", worst.response.count()},
          {"bound_ns", worst.bound.count()},
          {"repeated_by_releases", options.scenario.execution == "wcet"},
          {"duration", to_string(worst.run.horizon)},
          {"releases", releases}};
}

Result<std::optional<GanttRecorder>> gantt_of(const Options& options, const Scenario& scenario, const Plan& plan) {
  const auto from = duration_of("--from", options.from);
  if (!from) return Unexpected(from.error());
  const auto to = duration_of("--to", options.to);
  if (!to) return Unexpected(to.error());
  if (options.gantt.empty()) return std::nullopt;
  const Duration begin = from->value_or(Duration{0});
  const Duration end = std::min(to->value_or(scenario.run.horizon), scenario.run.horizon);
  if (begin >= end)
    return fail(Errc::bad_input,
                "--from " + to_string(begin) + ": the picture ends at " + to_string(end) + ", before it begins");
  return GanttRecorder(scenario.tasks, plan, Instant{} + begin, Instant{} + end);
}

/// The recording of a run, while it goes on.
class Recording {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Recording>> start(const std::string& folder, Scenario& scenario,
                                                                const Plan& plan) {
    auto session = traces::Session::start(folder, {.buffer = buffer});
    if (!session) return Unexpected(session.error());
    auto recording = std::unique_ptr<Recording>(new Recording(std::move(*session), scenario.tasks, plan));
    recording->tracer_.watch(scenario.run);
    return recording;
  }

  [[nodiscard]] Result<TraceReport> end(const Report& report) {
    if (const auto written = tracer_.end(report); !written) return Unexpected(written.error());
    const auto summary = session_.stop();
    if (!summary) return Unexpected(summary.error());
    return TraceReport{.events = summary->events, .lost = summary->lost.events + summary->lost.packets};
  }

 private:
  static constexpr Bytes buffer{std::uint64_t{64} << 20}; // few waits, and where there are many cores too
  Recording(traces::Session session, const TaskSet& tasks, const Plan& plan)
      : session_(std::move(session)), tracer_(tasks, plan, session_) {}
  traces::Session session_;
  simulator::Tracer tracer_;
};

int simulate(const Options& options) {
  auto set = read(options.set);
  if (!set) return report(set.error());
  const auto planned = plan_on(options.machine, std::move(*set));
  if (!planned) return report(planned.error());
  auto json_file = OutputFile::open(options.json);
  if (!json_file) return report(json_file.error());
  auto gantt_file = OutputFile::open(options.gantt);
  if (!gantt_file) return report(gantt_file.error());
  std::ostream& out = text_output(options.json);
  print_plan(out, *planned, planned->plan);
  auto scenario = scenario_of(options.scenario, *planned, out);
  if (!scenario) return report(scenario.error());
  auto gantt = gantt_of(options, *scenario, planned->plan);
  if (!gantt) return report(gantt.error());

  simulator::Recorder recorder(scenario->tasks, planned->plan);
  recorder.watch_executions(scenario->run);
  scenario->run.observe = [&](const simulator::Step& step) {
    recorder.see(step);
    if (*gantt) (*gantt)->see(step);
  };
  if (*gantt) scenario->run.observe_core = [&](const simulator::Stretch& stretch) { (*gantt)->see(stretch); };
  std::unique_ptr<Recording> recording;
  if (!options.trace.empty()) {
    auto started = Recording::start(options.trace, *scenario, planned->plan);
    if (!started) return report(started.error());
    recording = std::move(*started);
  }
  const simulator::Outcome outcome = simulator::simulate(scenario->tasks, planned->plan, scenario->run);

  Report result = recorder.report(outcome);
  if (recording) {
    const auto traced = recording->end(result);
    if (!traced) return report(traced.error());
    result.trace = *traced;
  }
  if (*gantt)
    if (const auto drawn = gantt_file->write(traces::svg((*gantt)->gantt(outcome.end))); !drawn)
      return report(drawn.error());
  out << '\n';
  if (scenario->worst) print_worst(out, options, *scenario->worst);
  print_report(out, result);
  nlohmann::json json = rtexec::to_json(result);
  json["verdict"] = planned->plan.proved ? "proved" : "not proved";
  json["worst_case"] = scenario->worst ? to_json(options, *scenario->worst) : nlohmann::json(nullptr);
  if (const auto written = write_json(*json_file, json); !written) return report(written.error());
  return result.deadlines_kept() && result.bounds_kept() ? 0 : exit_code(Errc::missed);
}

} // namespace

void add_simulate(CLI::App& program, int& exit_code) {
  auto* command = program.add_subcommand(
      "simulate", "Run the task set in virtual time, proved or not, by the scheduler that runs it for real");
  const auto options = std::make_shared<Options>();
  add_task_set(*command, options->set);
  add_machine_option(*command, options->machine);
  add_scenario(*command, options->scenario);
  auto* gantt = command->add_option("--gantt", options->gantt, "Draw the run into FILE.svg")->type_name("FILE.svg");
  command->add_option("--from", options->from, "Where the picture begins")->type_name("DURATION")->needs(gantt);
  command->add_option("--to", options->to, "Where it ends")->type_name("DURATION")->needs(gantt);
  command
      ->add_option(
          "--trace", options->trace,
          "Record the run's events, with virtual times, as an LTTng trace into DIR, which must be new or empty")
      ->type_name("DIR");
  add_json_option(*command, options->json);
  command->callback([options, &exit_code] { exit_code = simulate(*options); });
}

} // namespace rtexec::command
