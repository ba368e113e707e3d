#include "config/names.hpp"
#include "config/base/text.hpp"
#include "rtexec/cli/command/command.hpp"
#include "rtexec/cli/command/simulated_gantt.hpp"
#include "rtexec/runtime/json/plan_json.hpp"
#include "rtexec/cli/options/scenario.hpp"
#include "rtexec/cli/options/task_set_file.hpp"
#include "rtexec/cli/reports/report_text.hpp"
#include "rtexec/cli/reports/verdict.hpp"
#include "rtexec/runtime/json/machine_json.hpp"
#include "rtexec/studies/simulator/recorder.hpp"
#include "rtexec/studies/simulator/tracer.hpp"
#include "traces/report/gantt_svg.hpp"
#include "traces/recording/session.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <ostream>

namespace rtexec::command {

namespace {

struct SimulateOptions {
  TaskSetFile set;
  std::string machine;
  ScenarioOptions scenario;
  std::string gantt, from, to;
  std::string trace;
  std::string json;
};

// ---- results ----

std::vector<std::string> texts_of(const std::vector<Duration>& releases) {
  std::vector<std::string> texts;
  for (const Duration release : releases) texts.push_back(to_string(release));
  return texts;
}

void print_worst(std::ostream& out, const SimulateOptions& options, const simulator::WorstCase& worst) {
  constexpr std::size_t max_listed = 400;
  const Task& task = worst.tasks.tasks[worst.job.task];
  out << "The latest response found: job " << worst.job.number << " of task '" << task.name << "' took "
      << readable(worst.response) << " of " << readable(worst.bound) << "; others may be later\n";
  std::size_t listed = 0;
  for (const Task& each : worst.tasks.tasks)
    if (each.releases) listed += each.releases->size();
  if (options.scenario.execution == "uniform")
    out << "Some executions, transfers and release latencies in it are shorter than their maxima: the releases alone "
           "do not reproduce it\n";
  else if (listed > max_listed) out << listed << " releases reproduce it; --json FILE lists them\n";
  else
    out << "These keys of the task set reproduce it:\n  [executive] duration = \"" << to_string(worst.run.horizon)
        << "\"\n";
  if (options.scenario.execution == "uniform" || listed > max_listed) return;
  for (const Task& each : worst.tasks.tasks) {
    if (!each.releases) continue;
    out << "  " << each.name << ": releases = [";
    const char* comma = "";
    for (const std::string& text : texts_of(*each.releases))
      out << std::exchange(comma, ", ") << config::toml_string(text);
    out << "]\n";
  }
}

nlohmann::json to_json(const SimulateOptions& options, const simulator::WorstCase& worst) {
  nlohmann::json releases = nlohmann::json::object();
  for (const Task& task : worst.tasks.tasks)
    if (task.releases) releases[task.name] = texts_of(*task.releases);
  return {{"task", worst.tasks.tasks[worst.job.task].name},
          {"job", worst.job.number},
          {"response_ns", worst.response.count()},
          {"bound_ns", worst.bound.count()},
          {"repeated_by_releases", options.scenario.execution == "wcet"},
          {"duration", to_string(worst.run.horizon)},
          {"releases", releases}};
}

std::optional<GanttRecorder> gantt_of(const SimulateOptions& options, const Scenario& scenario, const Plan& plan) {
  const Duration begin = duration_of("--from", options.from).value_or(Duration{0});
  const Duration end = std::min(duration_of("--to", options.to).value_or(scenario.run.horizon), scenario.run.horizon);
  if (options.gantt.empty()) return std::nullopt;
  if (begin >= end)
    give_up(Errc::bad_input,
            "--from " + to_string(begin) + ": the picture ends at " + to_string(end) + ", before it begins");
  return GanttRecorder(scenario.tasks, plan, Instant{} + begin, Instant{} + end);
}

/// Records a simulated run as a trace while it is simulated.
class Recording {
 public:
  Recording(const std::string& folder, Scenario& scenario, const Plan& plan)
      : session_(must(traces::Session::start(folder, {.buffer = buffer}))), tracer_(scenario.tasks, plan, session_) {
    tracer_.watch(scenario.run);
  }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  [[nodiscard]] TraceReport end(const Report& report) {
    must(tracer_.end(report));
    const auto summary = must(session_.stop());
    must(traces::check_whole(summary, session_.folder()));
    return {.events = summary.events, .lost = summary.lost.events + summary.lost.packets};
  }

 private:
  /// The size of the trace buffer. It is large, so that the simulation rarely waits.
  static constexpr Bytes buffer{std::uint64_t{64} << 20};
  traces::Session session_;
  simulator::Tracer tracer_;
};

int simulate(const SimulateOptions& options) {
  const PlannedSet planned = plan_on(options.machine, read(options.set));
  const Plan& plan = planned.plan;
  OutputFile json_file = must(OutputFile::open(options.json));
  OutputFile gantt_file = must(OutputFile::open(options.gantt));
  std::ostream& out = text_output(options.json);
  print_verdict(out, planned, plan);
  Scenario scenario = scenario_of(options.scenario, planned);
  auto gantt = gantt_of(options, scenario, plan);

  simulator::Recorder recorder(scenario.tasks, plan);
  recorder.watch(scenario.run);
  scenario.run.observe = [&](const simulator::Step& step) {
    recorder.see(step);
    if (gantt) gantt->see(step);
  };
  if (gantt) scenario.run.observe_core = [&](const simulator::TimeInterval& interval) { gantt->see(interval); };
  std::optional<Recording> recording;
  if (!options.trace.empty()) recording.emplace(options.trace, scenario, plan);
  const simulator::Outcome outcome = simulator::simulate(scenario.tasks, plan, scenario.run);

  Report result = recorder.report(outcome);
  if (recording) result.trace = recording->end(result);
  if (gantt) must(gantt_file.write(traces::svg(gantt->gantt(outcome.end))));
  out << '\n';
  if (scenario.worst) print_worst(out, options, *scenario.worst);
  print_report(out, result);
  nlohmann::json json = rtexec::to_json(result);
  json["verdict"] = plan.proved ? "proved" : "not proved";
  json["conditions"] = rtexec::to_json(conditions(planned, plan));
  json["worst_case"] = scenario.worst ? to_json(options, *scenario.worst) : nlohmann::json(nullptr);
  must(write_json(json_file, json));
  return kept(result) ? 0 : exit_code(Errc::missed);
}

} // namespace

void add_simulate(const Command& program, int& exit_code) {
  const Command command = program.add(
      "simulate",
      "Run the task set in virtual time with the scheduler of `rtexec run`; the deadlines need not be proved");
  const auto options = std::make_shared<SimulateOptions>();
  add_task_set(command, options->set);
  add_machine_option(command, options->machine);
  add_scenario(command, options->scenario);
  const Option gantt =
      command.option("--gantt", options->gantt, "FILE.svg", "Draw a Gantt chart of the run into FILE.svg");
  command.option("--from", options->from, "DURATION", "Virtual time at which the Gantt chart begins").needs(gantt);
  command.option("--to", options->to, "DURATION", "Virtual time at which the Gantt chart ends").needs(gantt);
  command.option("--trace", options->trace, "DIR",
                 "Record the run's events, with virtual times, as an LTTng trace into DIR, which must be new or empty");
  command.json(options->json);
  command.on_run([options, &exit_code] { exit_code = simulate(*options); });
}

} // namespace rtexec::command
