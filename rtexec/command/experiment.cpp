#include "rtexec/command/command.hpp"
#include "rtexec/command/progress.hpp"
#include "rtexec/command/results.hpp"
#include "rtexec/command/text.hpp"
#include "rtexec/command/validators.hpp"
#include "rtexec/study/isolation_report.hpp"

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

namespace rtexec::command {

namespace {

using study::Isolation;
using study::IsolationSetup;

struct Options {
  study::IsolationOptions study;
  std::string folder;
  std::string json;
};

std::vector<Isolation> measure(const IsolationSetup& setup, const StopRequest& stop) {
  Progress progress(&stop);
  const std::size_t wanted = count_measurements(setup.study) * setup.plants.size();
  std::size_t done = 0;
  std::vector<Isolation> isolations;
  for (const auto& plant : setup.plants) {
    isolations.push_back(
        must(run_isolation(*plant, setup.study, [&] { return progress("measuring", ++done, wanted, "cases"); })));
  }
  return isolations;
}

void save(const std::string& folder, std::span<const Isolation> isolations, std::ostream& out) {
  if (folder.empty()) return;
  const report::Files files = files_of(isolations);
  write_files(folder, files);
  out << "wrote " << files.size() << " files to " << folder << ": results.csv, limits.csv, speedup-*.svg, mean-*.svg"
      << (isolations.front().runs ? ", runs.csv, runs-*.svg" : "") << '\n';
}

void isolation(const Options& options) {
  const StopRequest stop;
  const auto setup = must(study::isolation_setup(options.study, [&stop] { return !stop.asked(); }));
  const ResultFolder folder(options.folder);
  if (folder.error()) give_up(Errc::refused, options.folder + ": cannot make this folder: " + folder.error().message());
  OutputFile json_file = must(OutputFile::open(options.json));
  std::ostream& out = text_output(options.json);
  const auto isolations = measure(setup, stop);
  print(out, setup, isolations);
  save(options.folder, isolations, out);
  must(write_json(json_file, to_json(setup, isolations)));
}

void add_isolation(CLI::App& experiment) {
  auto* command = experiment.add_subcommand("isolation",
                                            "How much limits of other cores' memory bandwidth speed a DNN job on the "
                                            "device up, beside 0 to n programs that sweep memory "
                                            "(Nigam's thesis on GPU-aware memory isolation, figures 17 and 26 to 30)");
  const auto options = std::make_shared<Options>();
  auto* simulate =
      command->add_flag("--simulate", options->study.simulate,
                        "On a model of a Jetson TX2, calibrated on the thesis's figures, not on this machine");
  option(*command, "--board", options->study.board, "BOARD",
         "That has the device, and counters of its cores' traffic: a name or a file")
      ->capture_default_str()
      ->excludes(simulate);
  option(*command, "--event", options->study.event, "EVENT",
         "That counts traffic (default: the board's, or cache-misses); page-faults: a stand-in, co-runners "
         "touch pages and no memory traffic is limited")
      ->excludes(simulate)
      ->check(not_empty());
  option(*command, "--seconds", options->study.seconds, "S", "Of each measurement on a machine, at least")
      ->capture_default_str()
      ->excludes(simulate)
      ->check(number_within(0.01, 3600.0));
  option(*command, "--model", options->study.models, "MODEL.onnx,...",
         "Networks to measure on a machine beside the Winograd kernel, as workloads by the names of their files")
      ->excludes(simulate)
      ->check(CLI::ExistingFile)
      ->delimiter(',');
  option(*command, "--modes", options->study.modes, "LIST",
         "thesis (all cores are limited; on a machine, where its device is a GPU), rtexec (the core that "
         "feeds the device is not; default: both)")
      ->delimiter(',');
  option(*command, "--workloads", options->study.workloads, "LIST",
         "winograd-256p, winograd-512p, winograd-1024p, winograd-2048p; of the model also yolo, detectnet; "
         "on a machine those of --model (default: all)")
      ->delimiter(',');
  option(*command, "--limits", options->study.limits, "LIST",
         "Of each core, ascending, at least 1MB/s; no limit is measured as well")
      ->capture_default_str()
      ->delimiter(',');
  option(*command, "--corunners", options->study.corunners, "N",
         "At most so many programs that sweep memory, on cores 1, 2, ... (default: one for each core but "
         "that which feeds the device)");
  option(*command, "--runs", options->study.runs, "N",
         "Executions of the Winograd kernel, with and without --runs-limit; 0: none (default: 100000, where "
         "the device is a core 1000)")
      ->check(CLI::Range(std::size_t{0}, std::size_t{10'000'000}));
  option(*command, "--runs-limit", options->study.runs_limit, "BANDWIDTH", "Of each core, for these; at least 1MB/s")
      ->capture_default_str();
  option(*command, "--seed", options->study.seed, "N",
         "Of the noise in the model: the same seed gives the same executions")
      ->capture_default_str();
  option(*command, "-o,--output", options->folder, "FOLDER",
         "Write results.csv, limits.csv, runs.csv and pictures of all three there");
  add_json_option(*command, options->json);
  command->callback([options] { isolation(*options); });
}

} // namespace

void add_experiment(CLI::App& program) {
  auto* command = program.add_subcommand("experiment", "Repeat an experiment of the literature");
  command->require_subcommand(1);
  add_isolation(*command);
}

} // namespace rtexec::command
