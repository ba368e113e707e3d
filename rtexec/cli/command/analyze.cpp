#include "config/base/output_path.hpp"
#include "config/profile_file.hpp"
#include "rtexec/cli/reports/analysis_text.hpp"
#include "rtexec/cli/command/command.hpp"
#include "rtexec/cli/terminal/stop_request.hpp"
#include "rtexec/cli/reports/report_text.hpp"
#include "rtexec/studies/sweep/execution_times.hpp"
#include "rtexec/studies/single/trace_analysis.hpp"
#include "traces/analysis/gantt_windows.hpp"
#include "traces/analysis/measured_profile.hpp"
#include "traces/report/csv.hpp"
#include "traces/report/html.hpp"
#include "traces/report/analysis_json.hpp"
#include "traces/report/perfetto.hpp"
#include "traces/report/gantt_svg.hpp"

#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <unistd.h>

namespace rtexec::command {

namespace {

namespace fs = std::filesystem;
using traces::Analysis;

constexpr const char *jobs_file = "jobs.csv", *summary_file = "summary.csv"; // names of files in the folder of --csv

struct AnalyzeOptions {
  std::string input;
  std::string html, svg, csv, perfetto, toml, json;
  std::string window;
  std::vector<double> exceedances{1e-3, 1e-6, 1e-9};
  double margin = 1.2;
  double pwcet = 1e-6;
  bool add = false;
  std::size_t misses = 10;
  bool causes = false;
};

/// Forwards the records of the trace, and shows the progress on a terminal. Ends reading at a signal to stop, so that
/// no temporary copy of a damaged trace remains.
class Reading final : public traces::RecordHandler {
 public:
  explicit Reading(traces::RecordHandler& handler) : handler_(handler), shown_(::isatty(STDERR_FILENO) != 0) {}
  ~Reading() {
    if (shown_ && events_ >= step) std::cerr << "\r\033[K";
  }
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;
  void record(const traces::Record& record) override {
    handler_.record(record);
    if (++events_ % step == 0 && shown_) std::cerr << "\rread " << events_ / step << " million events" << std::flush;
  }
  void loss(const traces::Loss& loss) override { handler_.loss(loss); }
  [[nodiscard]] bool stops() const override { return stop_.asked(); }

 private:
  static constexpr std::uint64_t step = 1'000'000;
  traces::RecordHandler& handler_;
  StopRequest stop_;
  bool shown_;
  std::uint64_t events_ = 0;
};

class JobsToCsv final : public traces::AnalysisObserver {
 public:
  explicit JobsToCsv(std::ostream& out) : out_(out) {}
  void setup(const traces::RunSetup& setup) override { csv_ = std::make_unique<traces::JobsCsv>(out_, setup); }
  void job(const traces::JobBreakdown& job) override { csv_->add(job); }

 private:
  std::ostream& out_;
  std::unique_ptr<traces::JobsCsv> csv_;
};

class BarsToPerfetto final : public traces::AnalysisObserver {
 public:
  explicit BarsToPerfetto(std::ostream& out) : out_(out) {}
  void setup(const traces::RunSetup& setup) override {
    writer_ = std::make_unique<traces::PerfettoWriter>(out_, traces::empty_gantt(setup));
  }
  void bar(const traces::GanttBar& bar) override { writer_->add(bar); }
  void mark(const traces::GanttMark& mark) override { writer_->add(mark); }
  void memory(const traces::GanttStep& step) override { writer_->add(step); }

 private:
  std::ostream& out_;
  std::unique_ptr<traces::PerfettoWriter> writer_;
};

/// Opens the file `name` in the folder of --csv. Without --csv, returns a file that discards its output.
OutputFile csv_file(const AnalyzeOptions& options, const char* name) {
  if (options.csv.empty()) return must(OutputFile::open({}));
  return must(OutputFile::open(must(config::make_output_folder(options.csv)) / name));
}

/// The output files that are written while the recording is read.
class Streams {
 public:
  explicit Streams(const AnalyzeOptions& options)
      : jobs_(csv_file(options, jobs_file)),
        summary_(csv_file(options, summary_file)),
        perfetto_(must(OutputFile::open(options.perfetto))) {
    if (jobs_) csv_ = std::make_unique<JobsToCsv>(jobs_.stream());
    if (perfetto_) bars_ = std::make_unique<BarsToPerfetto>(perfetto_.stream());
  }

  [[nodiscard]] std::vector<traces::AnalysisObserver*> observers() {
    std::vector<traces::AnalysisObserver*> all{&pieces};
    if (csv_) all.push_back(csv_.get());
    if (bars_) all.push_back(bars_.get());
    return all;
  }
  void close(const Analysis& analysis) {
    if (summary_) traces::summary_csv(analysis, summary_.stream());
    for (OutputFile* output : {&jobs_, &summary_, &perfetto_}) must(output->finish());
  }

  traces::PieceCounter pieces;

 private:
  OutputFile jobs_, summary_, perfetto_;
  std::unique_ptr<JobsToCsv> csv_;
  std::unique_ptr<BarsToPerfetto> bars_;
};

traces::PwcetOptions pwcet_options(const AnalyzeOptions& options) {
  traces::PwcetOptions result{.exceedances = options.exceedances, .block = 1};
  std::ranges::sort(result.exceedances, std::ranges::greater());
  result.exceedances.erase(std::ranges::unique(result.exceedances).begin(), result.exceedances.end());
  return result;
}

void draw(const AnalyzeOptions& options, const study::ReadRecords& read, const Analysis& analysis,
          std::uint64_t pieces) {
  if (options.html.empty() && options.svg.empty()) return;
  OutputFile html = must(OutputFile::open(options.html)), svg = must(OutputFile::open(options.svg));
  const auto gantts = must(study::draw(read, analysis, pieces, options.window));
  if (html) {
    traces::write_html(analysis, gantts, html.stream());
    must(html.finish());
  }
  if (svg) must(svg.write(traces::svg(gantts.front())));
}

// ---- the command ----

void write_measured(const AnalyzeOptions& options, const Analysis& analysis, std::ostream& out) {
  if (options.toml.empty()) return;
  std::optional<Profile> before;
  if (options.add) before = must(read_profile(options.toml));
  const auto measured =
      must(traces::measured_profile(analysis, {.exceedance = options.pwcet, .margin = options.margin}, before));
  must(write_profile(with_others(measured.profile, before.value_or(Profile{})), options.toml));
  out << "\nWrote " << options.toml << " (rtexec check SET.toml --wcet " << options.toml << ")\n";
  for (const std::string& rule : measured.rules) out << "  " << rule << '\n';
}

/// Returns the exit code. Returns `missed` after a deadline miss, a violated bound (a breach) or a difference in the
/// replay. Otherwise returns `not_proved` if figures are invalid or the trace has no job, because such a trace proves
/// nothing.
int verdict(const Analysis& analysis) {
  bool missed = !analysis.breaches.empty() || !analysis.replay.difference.empty(), invalid = false;
  std::uint64_t jobs = 0;
  for (const traces::TaskAnalysis& task : analysis.tasks) {
    jobs += task.released;
    missed = missed || (task.setup.criticality == Criticality::real_time && task.missed > 0);
    invalid = invalid || !task.invalid.empty();
  }
  return missed ? exit_code(Errc::missed) : invalid || jobs == 0 ? exit_code(Errc::not_proved) : 0;
}

int analyze_trace(const AnalyzeOptions& options) {
  OutputFile json_file = must(OutputFile::open(options.json));
  Streams streams(options);
  const study::ReadRecords read = [&options](traces::RunSetup& setup, traces::RecordHandler& handler) {
    Reading progress(handler);
    return traces::read_with_setup(options.input, setup, progress);
  };
  Analysis analysis = must(study::analyze(read, streams.observers(), pwcet_options(options)));
  analysis.folder = options.input;
  std::ostream& out = text_output(options.json);
  print_analysis(out, analysis, options.misses);
  if (options.causes) print_factors(out, analysis, options.misses);
  streams.close(analysis);
  draw(options, read, analysis, streams.pieces.count());
  must(write_json(json_file, traces::to_json(analysis)));
  write_measured(options, analysis, out);
  return verdict(analysis);
}

int analyze_samples(const AnalyzeOptions& options) {
  OutputFile json_file = must(OutputFile::open(options.json));
  const auto samples = must(study::read_execution_times(options.input));
  const auto pwcet = traces::estimate_pwcet(samples, pwcet_options(options));
  print_pwcet(text_output(options.json), pwcet);
  must(write_json(json_file, traces::to_json(pwcet)));
  return estimated(pwcet) ? 0 : exit_code(Errc::not_proved);
}

/// True if `file` belongs to the analysed recording. The recording contains `input` itself, and all files in or below a
/// folder of `input` that has trace metadata.
bool is_recorded(const fs::path& file, const fs::path& input) {
  std::error_code error;
  const fs::path top = fs::canonical(input, error);
  fs::path folder = fs::canonical(file, error);
  if (error || std::ranges::mismatch(top, folder).in1 != top.end()) return false;
  if (folder == top) return true;
  while (folder != top) {
    folder = folder.parent_path();
    if (fs::exists(folder / "metadata", error)) return true;
  }
  return false;
}

/// Rejects options that would overwrite files of the recording.
void check_outputs(const AnalyzeOptions& options) {
  std::vector<fs::path> outputs{options.html, options.svg, options.perfetto, options.toml, options.json};
  if (!options.csv.empty())
    for (const char* name : {jobs_file, summary_file}) outputs.push_back(fs::path(options.csv) / name);
  for (const fs::path& output : outputs)
    if (is_recorded(output, options.input))
      give_up(Errc::bad_input, output.string() + ": error: cannot write it: it is part of the analyzed trace, " +
                                   options.input + "; name another file");
}

/// Rejects options that would have no effect.
void check_options(const AnalyzeOptions& options, bool samples) {
  const std::vector<std::pair<std::string, const std::string&>> of_traces{
      {"--html", options.html},         {"--svg", options.svg},      {"--csv", options.csv},
      {"--perfetto", options.perfetto}, {"--to-toml", options.toml}, {"--window", options.window}};
  for (const auto& [name, value] : of_traces)
    if (samples && !value.empty())
      give_up(Errc::bad_input, name + " needs a trace, and " + options.input + " is a file of execution times");
  if (samples && options.causes)
    give_up(Errc::bad_input, "--causes needs a trace, and " + options.input + " is a file of execution times");
  if (options.window.empty()) return;
  if (options.html.empty() && options.svg.empty())
    give_up(Errc::bad_input, "--window needs --html or --svg, whose charts it limits");
  must(study::parse_window(options.window));
}

int analyze(const AnalyzeOptions& options) {
  std::error_code ignored;
  const bool samples = !fs::is_directory(options.input, ignored);
  check_options(options, samples);
  check_outputs(options);
  return samples ? analyze_samples(options) : analyze_trace(options);
}

} // namespace

void add_analyze(const Command& program, int& exit_code) {
  const Command command = program.add("analyze",
                                      "Analyze a trace: execution and response times, causes of delays and deadline "
                                      "misses, and whether promised bounds held");
  auto options = std::make_shared<AnalyzeOptions>();
  command
      .option("TRACE", options->input, "PATH",
              "Folder of a trace that `rtexec run`, `rtexec simulate`, rtexecd or a flight recorder wrote; or a text "
              "file with one execution time per line")
      .required()
      .existing_path();
  command.option(
      "--html", options->html, "FILE",
      "Write an HTML page with tables, charts and a zoomable Gantt chart; a browser shows it without network access");
  command.option("--svg", options->svg, "FILE", "Write a Gantt chart as an SVG picture");
  command.option(
      "--window", options->window, "FROM..TO",
      "Interval that the Gantt charts show, in time since the beginning of the recording (\"2.5s..3s\"); default: all "
      "of a short recording; for a long recording its beginning, its deadline misses and its longest jobs");
  command.option(
      "--csv", options->csv, "FOLDER",
      "Write jobs.csv (one line per job, with its response time split by cause) and summary.csv into FOLDER");
  command.option("--perfetto", options->perfetto, "FILE",
                 "Write the trace in the format of the Perfetto viewer, https://ui.perfetto.dev");
  const Option profile = command.option("--to-toml", options->toml, "FILE",
                                        "Write the measured execution times as a profile for `rtexec check --wcet`");
  command
      .option("--margin", options->margin, "N",
              "Minimum ratio of each WCET in the profile of --to-toml to the longest observed execution time")
      .within(1.0, 100.0)
      .needs(profile)
      .default_shown();
  command
      .flag("--add", options->add,
            "Add the measured execution times to those of the same workloads in the existing profile; its other tasks "
            "are unchanged")
      .needs(profile);
  command
      .option("--pwcet", options->pwcet, "N",
              "Share of jobs that may exceed a WCET in the profile of --to-toml; the WCETs are extrapolated to it")
      .within(1e-15, 0.1)
      .needs(profile)
      .default_shown();
  command
      .option("--exceedance", options->exceedances, "N,...",
              "Estimate the execution times that a job exceeds with each of these probabilities")
      .separated_by(',')
      .within(1e-15, 0.5)
      .default_shown();
  command.option("--misses", options->misses, "N", "Maximum number of deadline misses that are explained")
      .within(0, 1'000'000)
      .default_shown();
  command.flag(
      "--causes", options->causes,
      "Show what execution times depend on: the time since the previous execution, the preceding task, concurrent "
      "load. Also show the circumstances of executions that exceeded their WCETs, at most --misses N");
  command.json(options->json);
  command.on_run([options, &exit_code] { exit_code = analyze(*options); });
}

} // namespace rtexec::command
