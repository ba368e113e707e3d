#include "rtexec/cli/command/command.hpp"
#include "rtexec/cli/terminal/exit_guard.hpp"
#include "rtexec/runtime/json/plan_json.hpp"
#include "rtexec/cli/terminal/live_table.hpp"
#include "rtexec/cli/command/run_recording.hpp"
#include "rtexec/cli/terminal/stop_request.hpp"
#include "rtexec/cli/options/task_set_file.hpp"
#include "rtexec/cli/reports/report_text.hpp"
#include "rtexec/cli/reports/verdict.hpp"
#include "rtexec/runtime/planning/executive_setup.hpp"
#include "rtexec/runtime/view/viewer.hpp"

#include <atomic>
#include <iostream>
#include <memory>
#include <optional>

namespace rtexec::command {

namespace {

struct RunOptions {
  TaskSetFile set;
  std::string duration;
  std::string trace;
  std::string trace_limit;
  std::string flight_recorder;
  std::string json;
  std::string jobs;
  std::string show;
  int show_port = 0;
  std::string show_in;
  bool snapshot_above_wcet = false;
  bool trace_layers = false;
  bool force = false;
};

/// The result of a run: its report, and the error of its trace if there was one.
struct Outcome {
  Report report;
  Result<> trace;
};

/// The maximum number of recorded jobs of each task (--jobs).
constexpr std::size_t max_records = 100'000;

std::string outcome_of(const JobRecord& job) {
  if (job.failure)
    return job.missed || *job.failure != Errc::cancelled ? std::string(name(*job.failure)) : "unfinished";
  return job.missed ? "late" : "in-time";
}

/// Writes one line for each recorded job.
Result<> write_jobs(OutputFile& file, const std::string& name, const Executive& executive) {
  if (!file) return {};
  std::ostream& out = file.stream();
  out << "task,job,nominal_ns,requested_ns,device_begin_ns,device_end_ns,end_ns,device_executed_ns,outcome\n";
  const JobRecords records = executive.job_records();
  for (const JobRecord& job : records.jobs) {
    out << executive.set().tasks.tasks[job.task].name << ',' << job.number;
    for (const Instant at : {job.nominal, job.requested, job.device_begin, job.device_end, job.end})
      out << ',' << at.time_since_epoch().count();
    out << ',' << job.executed.device.count() << ',' << outcome_of(job) << '\n';
  }
  if (records.lost > 0)
    std::cerr << "rtexec: " << name << " has the first " << max_records << " jobs of each task; " << records.lost
              << " are left out\n";
  return file.finish();
}

/// True if the verdict is known before the start. If degraded runs are allowed, the verdict of a proved plan depends on
/// the requirements that the machine refuses at the start.
bool told_before_start(const Executive& executive) {
  return !executive.plan().proved || !executive.set().tasks.executive.allow_degraded;
}

/// Starts the viewer of a task's pictures. Returns null if no task is to be shown.
std::unique_ptr<view::Viewer> start_viewer(const std::shared_ptr<channels::PictureObserver>& observer,
                                           const RunOptions& options, const Executive& executive, std::ostream& out) {
  if (!observer) return nullptr;
  std::vector<unsigned> cores{executive.set().compute_core, executive.set().service_core};
  for (const PlannedTask& task : executive.plan().tasks) cores.push_back(task.core);
  auto viewer = must(view::Viewer::start(
      observer,
      {.port = static_cast<std::uint16_t>(options.show_port), .folder = options.show_in, .cores = std::move(cores)}));
  out << "What " << observer->task() << " sees: " << viewer->url() << '\n';
  if (!viewer->file().empty()) out << "  also in " << viewer->file().string() << '\n';
  if (!observer->recognises())
    out << "  No boxes are drawn: its model does not name its task (rtexec.task in its metadata).\n";
  out << "  At most " << std::chrono::seconds(1) / channels::PictureObserver::interval
      << " pictures a second are copied in its last part:\n  its WCET has " << readable(observer->cost())
      << " for it.\n"
      << std::endl;
  return viewer;
}

/// Prints the viewer's latest problem, if there is a new one.
void tell(view::Viewer* viewer, LiveTable& table) {
  const auto news = viewer != nullptr ? viewer->news() : std::nullopt;
  if (!news) return;
  table.make_room();
  std::cerr << "rtexec: --show-in: " << *news << std::endl;
}

Outcome execute(Executive& executive, RunRecording& recording, view::Viewer* viewer, std::ostream& out) {
  must(executive.start());
  if (!told_before_start(executive))
    print_verdict(out, executive.set(), executive.plan(), {.running = true, .degraded = executive.degraded()});
  if (const auto swap = executive.progress().swap) print_fallback(out, *swap);

  {
    LiveTable table(out);
    const auto duration = executive.set().tasks.executive.duration;
    while (!executive.wait(table.interval())) {
      tell(viewer, table);
      table.show(executive.progress(), duration);
    }
    tell(viewer, table);
  }
  Outcome outcome{.report = executive.stop(), .trace = {}};
  outcome.trace = recording.end(outcome.report);
  return outcome;
}

/// Takes output files that the command line does not name from the set's table [output]. A flight recorder on the
/// command line replaces the trace of that table.
void complete(RunOptions& options, const OutputOptions& asked) {
  if (options.trace.empty() && options.flight_recorder.empty()) options.trace = asked.trace;
  if (options.jobs.empty()) options.jobs = asked.jobs;
  if (options.json.empty()) options.json = asked.json;
}

int run(RunOptions options) {
  TaskSet set = read(options.set);
  const bool asked_by_set = options.trace.empty();
  complete(options, set.output);
  if (options.trace_layers && options.trace.empty() && options.flight_recorder.empty())
    give_up(Errc::bad_input, "--trace-layers needs --trace DIR or --flight-recorder DIR");
  if (options.json == "-" && options.jobs == "-")
    give_up(Errc::bad_input, "--json - and --jobs - both take standard output: give one of them a file");
  if (!options.duration.empty()) set.executive.duration = value_of("--duration", options.duration, parse_duration);
  std::optional<Bytes> limit;
  if (!options.trace_limit.empty()) limit = value_of("--trace-limit", options.trace_limit, parse_bytes);
  RunRecording recording({.trace = options.trace,
                          .trace_in_run_folder = asked_by_set,
                          .flight_recorder = options.flight_recorder,
                          .above_wcet = options.snapshot_above_wcet,
                          .layers = options.trace_layers,
                          .limit = limit});
  executive::Setup setup;
  setup.force = options.force;
  setup.trace_layers = options.trace_layers;
  setup.record_jobs = options.jobs.empty() ? 0 : max_records;
  setup.record = [&recording] { return recording.start(); };
  setup.service_manager = must(executive::ServiceManager::of_environment());
  if (!options.show.empty()) setup.observer = std::make_shared<channels::PictureObserver>(options.show);
  const auto observer = setup.observer;
  if (recording.on_misses())
    setup.on_miss = [&recording, tasks = set](const Miss& miss) { recording.miss(tasks, miss); };
  if (recording.on_excesses())
    setup.on_wcet_exceeded = [&recording, tasks = set](const WcetExcess& excess) { recording.excess(tasks, excess); };
  std::optional<Executive> made; // outlives `stop`, whose signal handler uses it
  std::atomic<Executive*> startable{nullptr};
  const StopRequest stop([&startable] {
    if (Executive* const asked = startable.load()) asked->request_stop();
  });
  Executive& executive = made.emplace(must(executive::create(std::move(set), std::move(setup))));

  std::ostream& out = text_output(options.jobs == "-" ? options.jobs : options.json);
  if (told_before_start(executive)) print_verdict(out, executive.set(), executive.plan());
  out << std::endl;
  // Refuses the run here, before any output is recorded or written.
  if (const auto may_start = executive.startable(); !may_start)
    give_up(may_start.error().code,
            may_start.error().what +
                (may_start.error().code == Errc::not_proved ? "; --force runs it without a promise" : ""));
  OutputFile json_file = must(OutputFile::open(options.json));
  OutputFile jobs_file = must(OutputFile::open(options.jobs));
  auto viewer = start_viewer(observer, options, executive, out);
  startable.store(&executive);
  ExitGuard::come_first(); // the guard runs before the exit handlers that channels have registered
  if (stop.asked()) give_up(Errc::cancelled, "stopped by a signal before the start: nothing was run");
  const Outcome ended = execute(executive, recording, viewer.get(), out);
  viewer.reset();
  nlohmann::json told = to_json(ended.report);
  told["memory"] = memory_json(executive.plan());
  if (!ended.trace) told["trace"]["lost"] = nullptr; // null: the number of lost events is not known
  told["trace"]["problem"] = ended.trace ? nlohmann::json() : nlohmann::json(ended.trace.error().what);
  const auto written = write_json(json_file, told);
  print_report(out, ended.report);
  int status = 0;
  if (!ended.trace) status = report(ended.trace.error());
  if (!written) status = report(written.error());
  if (const auto listed = write_jobs(jobs_file, options.jobs, executive); !listed) status = report(listed.error());
  if (ended.report.device_fault) return exit_code(Errc::device_fault);
  return kept(ended.report) ? status : exit_code(Errc::missed);
}

} // namespace

void add_run(const Command& program, int& exit_code) {
  const Command command =
      program.add("run", "Run the task set, and report response times, deadline misses and swapping");
  const auto options = std::make_shared<RunOptions>();
  add_task_set(command, options->set);
  command.option("--duration", options->duration, "DURATION",
                 "Length of the run, such as \"10s\", instead of the task set's duration");
  const Option trace =
      command.option("--trace", options->trace, "DIR", "Record an LTTng trace into DIR, which must be new or empty");
  command
      .option("--trace-limit", options->trace_limit, "SIZE",
              "Maximum size of the trace on disk, such as \"1GiB\"; only the latest events are kept")
      .needs(trace);
  const Option flight_recorder =
      command
          .option("--flight-recorder", options->flight_recorder, "DIR",
                  "Keep the latest events in memory, and write them as a trace below DIR, which must be new or empty, "
                  "at a deadline miss or SIGUSR1; at most 10 times, at least one second apart")
          .excludes(trace);
  command
      .flag("--snapshot-above-wcet", options->snapshot_above_wcet,
            "Also write the flight recorder's events when a part of a job takes longer than its WCET")
      .needs(flight_recorder);
  command.flag("--trace-layers", options->trace_layers,
               "Also record the begin and end of each layer of a network (needs --trace or --flight-recorder)");
  command.option("--jobs", options->jobs, "FILE.csv",
                 "Write one line per job, with its times on CLOCK_MONOTONIC, to FILE.csv (- for standard output)");
  const Option show = command
                          .option("--show", options->show, "TASK",
                                  "During the run, show the pictures and boxes of this detector task on a web page "
                                  "that only this machine can open")
                          .not_empty();
  command
      .option("--show-port", options->show_port, "PORT", "TCP port of the web page of --show (default: any free port)")
      .within(1, 65535)
      .needs(show);
  command.option("--show-in", options->show_in, "DIR", "Also write the newest picture of --show to DIR/TASK.jpg")
      .not_empty()
      .needs(show);
  command.flag("--force", options->force,
               "Run the task set even if its deadlines are not proved; they are then not promised");
  command.json(options->json);
  command.on_run([options, &exit_code] { exit_code = run(*options); });
}

} // namespace rtexec::command
