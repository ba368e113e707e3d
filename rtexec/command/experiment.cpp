#include "config/files.hpp"
#include <rtexec/board.hpp>
#include "config/text.hpp"
#include "hal/machine.hpp"
#include "rtexec/command/command.hpp"
#include "rtexec/command/isolation_chart.hpp"
#include "rtexec/command/progress.hpp"
#include "rtexec/command/text.hpp"
#include "rtexec/command/validators.hpp"
#include "rtexec/executive/loaded_set.hpp"
#include "rtexec/study/isolation.hpp"
#include "rtexec/study/isolation_machine.hpp"
#include "rtexec/study/study.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <span>
#include <system_error>

namespace rtexec::command {

namespace {

using study::Isolation;
using study::IsolationPlant;
using study::IsolationResult;
using study::IsolationRow;
using study::IsolationStudy;

/// What is measured, in one mode or several.
struct Subject {
  std::vector<std::string> preface; // lines that every text output begins with
  std::string event;                // that counts traffic; empty: a model
  bool stand_in = false;            // it is no memory traffic
  std::vector<std::unique_ptr<IsolationPlant>> plants;
};

/// What a Subject of the machine stands on.
struct MachineFloor {
  study::IsolationMachine machine;
  BandwidthLocks locks;
};

/// Empty: as the plant has it.
struct Options {
  bool simulate = false;
  std::vector<std::string> modes, workloads;
  // 7.2; a core of the model cannot reach more
  std::vector<std::string> limits{"10MB/s", "100MB/s", "512MB/s", "1000MB/s", "10000MB/s"};
  std::string runs_limit = "100MB/s"; // 7.3
  std::optional<unsigned> corunners;
  std::optional<std::size_t> runs;
  std::uint64_t seed = 1;
  std::string board = "host";
  std::string event;
  std::vector<std::string> models;
  double seconds = 2;
  std::string folder;
  std::string json;
};

// 7.3; a host device takes some 50 ms for each
constexpr std::size_t runs_of_thesis = 100'000, runs_on_cores = 1000;

// ---- what is asked ----

Result<Bandwidth> limit_of(const char* option, const std::string& text) {
  const auto limit = parse_bandwidth(text);
  if (!limit) return fail(limit.error().code, std::string(option) + " " + text + ": " + limit.error().what);
  if (*limit < Bandwidth{1'000'000})
    return fail(Errc::bad_input, std::string(option) + " " + text + ": at least 1MB/s");
  return limit;
}

/// `runs`: where none are asked for.
Result<IsolationStudy> study_of(const Options& options, const IsolationPlant& plant, std::size_t runs) {
  IsolationStudy study{.workloads = options.workloads,
                       .limits = {},
                       .corunners = options.corunners.value_or(plant.most_corunners()),
                       .runs = options.runs.value_or(runs),
                       .runs_limit = {}};
  if (study.workloads.empty())
    for (const study::IsolationWorkload& each : plant.workloads()) study.workloads.push_back(each.name);
  for (const std::string& text : options.limits) {
    const auto limit = limit_of("--limits", text);
    if (!limit) return Unexpected(limit.error());
    if (!study.limits.empty() && *limit <= study.limits.back())
      return fail(Errc::bad_input, "--limits " + text + ": does not ascend; list them in ascending order");
    study.limits.push_back(*limit);
  }
  const auto runs_limit = limit_of("--runs-limit", options.runs_limit);
  if (!runs_limit) return Unexpected(runs_limit.error());
  study.runs_limit = *runs_limit;
  return study;
}

/// Of `known`, those that were asked for; all where none were.
Result<std::vector<std::string_view>> modes_of(const Options& options, std::span<const std::string_view> known,
                                               const std::string& but) {
  for (const std::string& name : options.modes)
    if (std::ranges::find(known, name) == known.end())
      return fail(Errc::bad_input, "--modes " + config::shortened(name) + ": there is none of this name" + but +
                                       "; use " + config::alternatives(known));
  std::vector<std::string_view> modes;
  std::ranges::copy_if(known, std::back_inserter(modes), [&](std::string_view each) {
    return options.modes.empty() || std::ranges::find(options.modes, each) != options.modes.end();
  });
  return modes;
}

Result<Subject> modelled(const Options& options) {
  const study::IsolationModel& model = study::tx2_model();
  std::vector<std::string_view> names;
  for (const study::ModelledMode& mode : model.modes) names.push_back(mode.name);
  const auto modes = modes_of(options, names, "");
  if (!modes) return Unexpected(modes.error());
  Subject subject{
      .preface = {"A model of a Jetson TX2, not a measurement"}, .event = {}, .stand_in = false, .plants = {}};
  for (const std::string_view mode : *modes)
    subject.plants.push_back(
        modelled_plant(model, *std::ranges::find(model.modes, mode, &study::ModelledMode::name), options.seed));
  return subject;
}

Result<study::IsolationMachine> machine_of(const Options& options) {
  auto board = read_board(options.board);
  if (!board) return Unexpected(board.error());
  study::IsolationRequest request{.board = std::move(*board),
                                  .event = options.event,
                                  .models = {options.models.begin(), options.models.end()},
                                  .length = Duration(std::llround(options.seconds * 1e9)),
                                  .going_on = [] { return !stop_wanted(); }};
  auto machine = study::isolation_machine(request);
  if (machine || machine.error().code != Errc::refused) return machine;
  return fail(Errc::refused, "experiment isolation: " + machine.error().what +
                                 "\n--event page-faults runs it with a stand-in (co-runners that touch pages), "
                                 "--simulate on the model of a Jetson TX2");
}

Result<Subject> measured(const Options& options, std::unique_ptr<MachineFloor>& floor) {
  auto machine = machine_of(options);
  if (!machine) return Unexpected(machine.error());
  auto locks = BandwidthLocks::open();
  if (!locks) return Unexpected(locks.error());
  floor = std::make_unique<MachineFloor>(std::move(*machine), std::move(*locks));
  const auto offered = study::modes_of(floor->machine);
  std::vector<std::string_view> names;
  for (const study::MachineMode mode : offered) names.push_back(study::name_of(mode));
  const bool on_cores = floor->machine.device_on_cores;
  const auto modes = modes_of(
      options, names,
      on_cores ? " here: board '" + options.board + "' computes on the core that mode thesis would limit" : " here");
  if (!modes) return Unexpected(modes.error());
  const std::string core = "core " + std::to_string(floor->machine.feeder);
  const std::string where = on_cores ? core + ", which is the device" : floor->machine.device + ", fed by " + core;
  Subject subject{.preface = {"Measured on " + where + " (" + hal::machine_name() + ")"},
                  .event = floor->machine.event,
                  .stand_in = floor->machine.stand_in,
                  .plants = {}};
  if (subject.stand_in)
    subject.preface.push_back("A stand-in, not memory traffic: " + subject.event +
                              " are counted and limited; speed-ups say nothing of memory bandwidth");
  std::ranges::copy(floor->machine.notes, std::back_inserter(subject.preface));
  for (const study::MachineMode mode : offered)
    if (std::ranges::find(*modes, study::name_of(mode)) != modes->end())
      subject.plants.push_back(machine_plant(floor->machine, mode, floor->locks));
  return subject;
}

// ---- tables ----

std::string fixed(double value, int digits) {
  char text[48];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return std::strtod(text, nullptr) == 0 && text[0] == '-' ? text + 1 : text;
}

std::string signed_percent(double value) {
  const std::string text = fixed(value, 1);
  return value > 0 && text != "0.0" ? "+" + text : text;
}

std::string scientific(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2g", value);
  return text;
}

std::string corun(std::size_t count) { return count == 0 ? "solo" : "corun" + std::to_string(count); }
std::string gigabytes(Bandwidth bandwidth) { return fixed(static_cast<double>(bandwidth.bytes_per_second) * 1e-9, 2); }

void print_sweeps(std::ostream& out, const Isolation& isolation) {
  if (isolation.sweeps.empty()) return;
  out << "Sweeps alone, GB/s together:";
  for (std::size_t i = 0; i < isolation.sweeps.size(); ++i)
    out << (i == 0 ? " " : ", ") << corun(i + 1) << ' ' << gigabytes(isolation.sweeps[i]);
  out << "\n\n";
}

/// One workload, its modes side by side.
void print_workload(std::ostream& out, std::span<const Isolation> isolations, std::size_t index) {
  const IsolationResult& first = isolations.front().results[index];
  const std::size_t most = first.rows.front().measures.size() - 1;
  out << first.workload.title << ": speed-up against no limit, percent; mean and variance of " << first.workload.unit
      << " over 0 to " << most << " co-runners\n";
  std::vector<std::string> header{"limit"};
  for (const Isolation& each : isolations) {
    header.push_back(each.name + ": solo");
    if (most > 0) header.push_back(corun(most));
    for (const char* column : {"mean", "variance"}) header.emplace_back(column);
    if (most > 0) header.emplace_back("co-runners GB/s");
  }
  Table table(header);
  for (std::size_t row = 0; row < first.rows.size(); ++row) {
    std::vector<std::string> cells{study::name_of(first.rows[row].limit)};
    for (const Isolation& each : isolations) {
      const IsolationRow& own = each.results[index].rows[row];
      cells.push_back(signed_percent(own.speedup.front()));
      if (most > 0) cells.push_back(signed_percent(own.speedup.back()));
      cells.push_back(fixed(own.mean, 3) + (row == each.results[index].best ? " *" : "  "));
      cells.push_back(scientific(own.variance));
      if (most > 0) cells.push_back(gigabytes(own.measures.back().corunners));
    }
    table.add(std::move(cells));
  }
  table.print(out);
  out << '\n';
}

void print_runs(std::ostream& out, std::span<const Isolation> isolations) {
  if (!isolations.front().runs) return;
  out << isolations.front().runs->without.size() << " executions of the Winograd kernel without co-runners, us\n";
  Table table({"limit", "worst", "mean", "variance", "range", "worst is less by"});
  for (const Isolation& each : isolations) {
    const auto& runs = *each.runs;
    const auto add = [&](const std::string& limit, const study::Spread& spread, const std::string& gain) {
      table.add({each.name + ": " + limit, fixed(static_cast<double>(spread.worst.count()) * 1e-3, 1),
                 fixed(spread.mean_ns * 1e-3, 1), fixed(spread.variance_ns2 * 1e-6, 0),
                 fixed(static_cast<double>(spread.range().count()) * 1e-3, 1), gain});
    };
    const double gain = 100 * (1 - static_cast<double>(runs.spread_with.worst.count()) /
                                       static_cast<double>(runs.spread_without.worst.count()));
    add("none", runs.spread_without, "");
    add(study::name_of(runs.limit), runs.spread_with, fixed(gain, 1) + " %");
  }
  table.print(out);
}

void print(std::ostream& out, const Subject& subject, std::span<const Isolation> isolations) {
  for (const std::string& line : subject.preface) out << line << '\n';
  for (const Isolation& each : isolations) out << each.name << ": " << each.description << '\n';
  print_sweeps(out, isolations.front());
  for (std::size_t i = 0; i < isolations.front().results.size(); ++i) print_workload(out, isolations, i);
  if (!isolations.front().results.empty()) out << "* the limit with the greatest mean\n";
  print_runs(out, isolations);
}

// ---- files ----

std::string limit_field(study::BandwidthLimit limit) {
  return limit ? std::to_string(limit->bytes_per_second) : "none";
}

std::string results_csv(std::span<const Isolation> isolations) {
  std::string text =
      "mode,workload,unit,limit_bytes_per_second,corunners,performance,speedup_percent,corunners_bytes_per_second,"
      "device_bytes_per_second,"
      "mean_job_ns,worst_job_ns\n";
  for (const Isolation& each : isolations)
    for (const IsolationResult& result : each.results)
      for (const IsolationRow& row : result.rows)
        for (std::size_t i = 0; i < row.measures.size(); ++i)
          text += each.name + "," + result.workload.name + "," + result.workload.unit + "," + limit_field(row.limit) +
                  "," + std::to_string(i) + "," + study::text_of(row.measures[i].performance) + "," +
                  study::text_of(row.speedup[i]) + "," + std::to_string(row.measures[i].corunners.bytes_per_second) +
                  "," + std::to_string(row.measures[i].device.bytes_per_second) + "," +
                  std::to_string(row.measures[i].mean.count()) + "," + std::to_string(row.measures[i].worst.count()) +
                  "\n";
  return text;
}

std::string limits_csv(std::span<const Isolation> isolations) {
  std::string text = "mode,workload,unit,limit_bytes_per_second,mean,variance\n";
  for (const Isolation& each : isolations)
    for (const IsolationResult& result : each.results)
      for (const IsolationRow& row : result.rows)
        text += each.name + "," + result.workload.name + "," + result.workload.unit + "," + limit_field(row.limit) +
                "," + study::text_of(row.mean) + "," + study::text_of(row.variance) + "\n";
  return text;
}

std::string runs_csv(std::span<const Isolation> isolations) {
  std::string text = "mode,run,without_limit_ns,with_limit_ns\n";
  for (const Isolation& each : isolations)
    for (std::size_t i = 0; i < each.runs->without.size(); ++i)
      text += each.name + "," + std::to_string(i) + "," + std::to_string(each.runs->without[i].count()) + "," +
              std::to_string(each.runs->with[i].count()) + "\n";
  return text;
}

std::vector<std::string> categories(const IsolationResult& result) {
  std::vector<std::string> names;
  for (const IsolationRow& row : result.rows) {
    const double megabytes = row.limit ? static_cast<double>(row.limit->bytes_per_second) * 1e-6 : 0;
    names.push_back(row.limit ? study::text_of(megabytes) : "none");
  }
  return names;
}

Panel empty_panel(const Isolation& isolation, const IsolationResult& result) {
  return {.title = result.workload.title + ": " + isolation.name,
          .x_label = "limit of each core, MB/s",
          .y_label = {},
          .right_label = {},
          .categories = categories(result),
          .curves = {}};
}

/// As Figs. 26 and 28.
Panel speedup_panel(const Isolation& isolation, const IsolationResult& result) {
  Panel panel = empty_panel(isolation, result);
  panel.y_label = "speed-up in " + result.workload.unit + ", percent";
  for (std::size_t i = 0; i < result.rows.front().measures.size(); ++i) {
    panel.curves.push_back({.name = corun(i), .values = {}});
    for (const IsolationRow& row : result.rows) panel.curves.back().values.push_back(row.speedup[i]);
  }
  return panel;
}

/// As Figs. 27 and 29.
Panel mean_panel(const Isolation& isolation, const IsolationResult& result) {
  Panel panel = empty_panel(isolation, result);
  panel.y_label = "mean of " + result.workload.unit;
  panel.right_label = "variance";
  panel.curves = {{.name = "mean", .values = {}}, {.name = "variance", .values = {}, .right = true}};
  for (const IsolationRow& row : result.rows) {
    panel.curves[0].values.push_back(row.mean);
    panel.curves[1].values.push_back(row.variance);
  }
  return panel;
}

/// By name, what goes into the folder.
std::vector<std::pair<std::string, std::string>> files_of(std::span<const Isolation> isolations) {
  std::vector<std::pair<std::string, std::string>> files{{"results.csv", results_csv(isolations)},
                                                         {"limits.csv", limits_csv(isolations)}};
  for (std::size_t i = 0; i < isolations.front().results.size(); ++i) {
    std::vector<Panel> speedups, means;
    for (const Isolation& each : isolations) {
      speedups.push_back(speedup_panel(each, each.results[i]));
      means.push_back(mean_panel(each, each.results[i]));
    }
    const std::string& name = isolations.front().results[i].workload.name;
    files.emplace_back("speedup-" + name + ".svg", svg(speedups));
    files.emplace_back("mean-" + name + ".svg", svg(means));
  }
  if (!isolations.front().runs) return files;
  files.emplace_back("runs.csv", runs_csv(isolations));
  for (const Isolation& each : isolations) {
    const Runs runs[] = {{"none", each.runs->without}, {study::name_of(each.runs->limit), each.runs->with}};
    files.emplace_back(
        "runs-" + each.name + ".svg",
        envelope_svg("Executions of the Winograd kernel without co-runners, by limit: " + each.name, runs));
  }
  return files;
}

/// Is made before anything long begins, and gone again where nothing came into it.
class ResultFolder {
 public:
  explicit ResultFolder(const std::filesystem::path& folder) {
    std::error_code error;
    for (auto each = folder; !each.empty() && !std::filesystem::exists(each, error) && !error;
         each = each.parent_path())
      made_.push_back(each);
    if (!folder.empty()) std::filesystem::create_directories(folder, error_);
  }
  ~ResultFolder() {
    std::error_code not_empty;
    for (const auto& each : made_) std::filesystem::remove(each, not_empty);
  }
  ResultFolder(const ResultFolder&) = delete;
  ResultFolder& operator=(const ResultFolder&) = delete;
  [[nodiscard]] const std::error_code& error() const { return error_; }

 private:
  std::vector<std::filesystem::path> made_; // innermost first
  std::error_code error_;
};

Result<> save(const std::string& folder, std::span<const Isolation> isolations, std::ostream& out) {
  if (folder.empty()) return {};
  const auto files = files_of(isolations);
  for (const auto& [name, content] : files)
    if (const auto written = config::replace_file(std::filesystem::path(folder) / name, content); !written)
      return written;
  out << "wrote " << files.size() << " files to " << folder << ": results.csv, limits.csv, speedup-*.svg, mean-*.svg"
      << (isolations.front().runs ? ", runs.csv, runs-*.svg" : "") << '\n';
  return {};
}

nlohmann::json limit_json(study::BandwidthLimit limit) {
  return limit ? nlohmann::json(limit->bytes_per_second) : nlohmann::json(nullptr);
}

nlohmann::json to_json(const IsolationRow& row) {
  nlohmann::json measures = nlohmann::json::array();
  for (std::size_t i = 0; i < row.measures.size(); ++i)
    measures.push_back({{"corunners", i},
                        {"performance", row.measures[i].performance},
                        {"speedup_percent", row.speedup[i]},
                        {"corunners_bytes_per_second", row.measures[i].corunners.bytes_per_second},
                        {"device_bytes_per_second", row.measures[i].device.bytes_per_second},
                        {"mean_job_ns", row.measures[i].mean.count()},
                        {"worst_job_ns", row.measures[i].worst.count()}});
  return {{"limit_bytes_per_second", limit_json(row.limit)},
          {"mean", row.mean},
          {"variance", row.variance},
          {"measures", std::move(measures)}};
}

nlohmann::json to_json(const study::Spread& spread) {
  return {{"worst_ns", spread.worst.count()},
          {"least_ns", spread.least.count()},
          {"mean_ns", spread.mean_ns},
          {"variance_ns2", spread.variance_ns2},
          {"range_ns", spread.range().count()}};
}

nlohmann::json to_json(const Isolation& isolation) {
  nlohmann::json workloads = nlohmann::json::array(), sweeps = nlohmann::json::array(), runs = nullptr;
  for (const Bandwidth each : isolation.sweeps) sweeps.push_back(each.bytes_per_second);
  for (const IsolationResult& result : isolation.results) {
    nlohmann::json rows = nlohmann::json::array();
    for (const IsolationRow& row : result.rows) rows.push_back(to_json(row));
    workloads.push_back({{"name", result.workload.name},
                         {"title", result.workload.title},
                         {"unit", result.workload.unit},
                         {"best_limit_bytes_per_second", limit_json(result.rows[result.best].limit)},
                         {"limits", std::move(rows)}});
  }
  if (isolation.runs)
    runs = {{"runs", isolation.runs->without.size()},
            {"limit_bytes_per_second", isolation.runs->limit.bytes_per_second},
            {"without_limit", to_json(isolation.runs->spread_without)},
            {"with_limit", to_json(isolation.runs->spread_with)}};
  return {{"mode", isolation.name},
          {"description", isolation.description},
          {"sweeps_bytes_per_second", std::move(sweeps)},
          {"workloads", std::move(workloads)},
          {"executions", std::move(runs)}};
}

nlohmann::json to_json(const Options& options, const Subject& subject, std::span<const Isolation> isolations) {
  nlohmann::json modes = nlohmann::json::array();
  for (const Isolation& each : isolations) modes.push_back(to_json(each));
  return {{"simulated", options.simulate},
          {"event", subject.event.empty() ? nlohmann::json(nullptr) : nlohmann::json(subject.event)},
          {"stand_in", subject.stand_in},
          {"preface", subject.preface},
          {"seed", options.seed},
          {"modes", std::move(modes)}};
}

// ---- the command ----

Result<std::vector<Isolation>> measure(const Subject& subject, const IsolationStudy& study, std::ostream& out) {
  stop_on_signals();
  Progress progress(out);
  const std::size_t wanted = count_measurements(study) * subject.plants.size();
  std::size_t done = 0;
  std::vector<Isolation> isolations;
  for (const auto& plant : subject.plants) {
    auto isolation = run_isolation(*plant, study, [&] { return progress("measuring", ++done, wanted, "cases"); });
    if (!isolation) return Unexpected(isolation.error());
    isolations.push_back(std::move(*isolation));
  }
  return isolations;
}

int isolation(const Options& options) {
  std::unique_ptr<MachineFloor> floor; // outlives the plants
  const auto subject = options.simulate ? modelled(options) : measured(options, floor);
  if (!subject) return report(subject.error());
  const auto study = study_of(options, *subject->plants.front(),
                              floor && floor->machine.device_on_cores ? runs_on_cores : runs_of_thesis);
  if (!study) return report(study.error());
  const ResultFolder folder(options.folder);
  if (folder.error())
    return report({Errc::refused, options.folder + ": cannot make this folder: " + folder.error().message()});
  if (const auto writable = check_json(options.json); !writable) return report(writable.error());
  std::ostream& out = text_output(options.json);
  const auto isolations = measure(*subject, *study, out);
  if (!isolations) return report(isolations.error());
  print(out, *subject, *isolations);
  if (const auto saved = save(options.folder, *isolations, out); !saved) return report(saved.error());
  if (const auto written = write_json(options.json, to_json(options, *subject, *isolations)); !written)
    return report(written.error());
  return 0;
}

void add_isolation(CLI::App& experiment, int& exit_code) {
  auto* command = experiment.add_subcommand("isolation",
                                            "How much limits of other cores' memory bandwidth speed a DNN job on the "
                                            "device up, beside 0 to n programs that sweep memory "
                                            "(Nigam's thesis on GPU-aware memory isolation, figures 17 and 26 to 30)");
  const auto options = std::make_shared<Options>();
  auto* simulate =
      command->add_flag("--simulate", options->simulate,
                        "On a model of a Jetson TX2, calibrated on the thesis's figures, not on this machine");
  command
      ->add_option("--board", options->board,
                   "That has the device, and counters of its cores' traffic: a name or a file")
      ->capture_default_str()
      ->excludes(simulate)
      ->type_name("BOARD");
  command
      ->add_option("--event", options->event,
                   "That counts traffic (default: the board's, or cache-misses); page-faults: a stand-in, co-runners "
                   "touch pages and no memory traffic is limited")
      ->excludes(simulate)
      ->check(not_empty())
      ->type_name("EVENT");
  command->add_option("--seconds", options->seconds, "Of each measurement on a machine, at least")
      ->capture_default_str()
      ->excludes(simulate)
      ->check(number_within(0.01, 3600.0))
      ->type_name("S");
  command
      ->add_option(
          "--model", options->models,
          "Networks to measure on a machine beside the Winograd kernel, as workloads by the names of their files")
      ->excludes(simulate)
      ->check(CLI::ExistingFile)
      ->delimiter(',')
      ->type_name("MODEL.onnx,...");
  command
      ->add_option("--modes", options->modes,
                   "thesis (all cores are limited; on a machine, where its device is a GPU), rtexec (the core that "
                   "feeds the device is not; default: both)")
      ->delimiter(',')
      ->type_name("LIST");
  command
      ->add_option("--workloads", options->workloads,
                   "winograd-256p, winograd-512p, winograd-1024p, winograd-2048p; of the model also yolo, detectnet; "
                   "on a machine those of --model (default: all)")
      ->delimiter(',')
      ->type_name("LIST");
  command
      ->add_option("--limits", options->limits, "Of each core, ascending, at least 1MB/s; no limit is measured as well")
      ->capture_default_str()
      ->delimiter(',')
      ->type_name("LIST");
  command
      ->add_option("--corunners", options->corunners,
                   "At most so many programs that sweep memory, on cores 1, 2, ... (default: one for each core but "
                   "that which feeds the device)")
      ->type_name("N");
  command
      ->add_option("--runs", options->runs,
                   "Executions of the Winograd kernel, with and without --runs-limit; 0: none (default: 100000, where "
                   "the device is a core 1000)")
      ->check(CLI::Range(std::size_t{0}, std::size_t{10'000'000}))
      ->type_name("N");
  command->add_option("--runs-limit", options->runs_limit, "Of each core, for these; at least 1MB/s")
      ->capture_default_str()
      ->type_name("BANDWIDTH");
  command->add_option("--seed", options->seed, "Of the noise in the model: the same seed gives the same executions")
      ->capture_default_str()
      ->type_name("N");
  command
      ->add_option("-o,--output", options->folder,
                   "Write results.csv, limits.csv, runs.csv and pictures of all three there")
      ->type_name("FOLDER");
  add_json_option(*command, options->json);
  command->callback([options, &exit_code] { exit_code = isolation(*options); });
}

} // namespace

void add_experiment(CLI::App& program, int& exit_code) {
  auto* command = program.add_subcommand("experiment", "Repeat an experiment of the literature");
  command->require_subcommand(1);
  add_isolation(*command, exit_code);
}

} // namespace rtexec::command
