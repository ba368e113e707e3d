#include "rtexec/cli/command/command.hpp"
#include "rtexec/cli/command/experiment_init.hpp"
#include "rtexec/cli/command/experiment_memory.hpp"
#include "rtexec/cli/terminal/progress.hpp"
#include "rtexec/cli/command/results.hpp"
#include "rtexec/cli/reports/report_text.hpp"
#include "rtexec/cli/reports/isolation_report.hpp"

#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

namespace rtexec::command {

namespace {

using study::Isolation;
using study::IsolationSetup;

struct ExperimentOptions {
  study::IsolationOptions study;
  std::string folder;
  std::string json;
};

std::vector<Isolation> measure(const IsolationSetup& setup, const StopRequest& stop) {
  Progress progress(&stop);
  const std::size_t wanted = count_measurements(setup.study) * setup.platforms.size();
  std::size_t done = 0;
  std::vector<Isolation> isolations;
  for (const auto& platform : setup.platforms) {
    isolations.push_back(
        must(run_isolation(*platform, setup.study, [&] { return progress("measuring", ++done, wanted, "cases"); })));
  }
  return isolations;
}

void isolation(const ExperimentOptions& options) {
  const StopRequest stop;
  const auto setup = must(study::isolation_setup(options.study, [&stop] { return !stop.asked(); }));
  const ResultFolder folder(options.folder);
  OutputFile json_file = must(OutputFile::open(options.json));
  std::ostream& out = text_output(options.json);
  const auto isolations = measure(setup, stop);
  print(out, setup, isolations);
  save(options.folder, files_of(isolations), out);
  must(write_json(json_file, to_json(setup, isolations)));
}

void add_isolation(const Command& experiment) {
  const Command command = experiment.add(
      "isolation",
      "Measure how bandwidth limits of other cores speed up a DNN job on the device, with 0 to n concurrent programs "
      "that sweep memory (Nigam's thesis on GPU-aware memory isolation, figures 17 and 26 to 30)");
  const auto options = std::make_shared<ExperimentOptions>();
  const Option simulate = command.flag(
      "--simulate", options->study.simulate,
      "Simulate a model of a Jetson TX2, calibrated on the thesis's figures, instead of measuring on this machine");
  command
      .option("--board", options->study.board, "BOARD",
              "Board, by name or path, with the device and the counters of its cores' memory traffic")
      .default_shown()
      .excludes(simulate);
  command
      .option("--event", options->study.event, "EVENT",
              "Event that counts memory traffic (default: the board's event, or cache-misses). page-faults is a "
              "substitute for tests: the concurrent programs only access new pages, and no memory traffic is limited")
      .excludes(simulate)
      .not_empty();
  command
      .option("--seconds", options->study.seconds, "S", "Minimum length of each measurement on a machine, in seconds")
      .default_shown()
      .excludes(simulate)
      .within(0.01, 3600.0);
  command
      .option(
          "--model", options->study.models, "MODEL.onnx,...",
          "Networks to measure on a machine in addition to the Winograd kernel, as workloads named after their files")
      .excludes(simulate)
      .existing_file()
      .separated_by(',');
  command
      .option("--modes", options->study.modes, "LIST",
              "Cores that are limited: thesis: all cores (on a machine only if its device is a GPU); rtexec: all cores "
              "except the core that feeds the device (default: both)")
      .separated_by(',');
  command
      .option("--workloads", options->study.workloads, "LIST",
              "DNN jobs to measure: winograd-256p, winograd-512p, winograd-1024p, winograd-2048p; with --simulate also "
              "yolo and detectnet; on a machine also the networks of --model (default: all)")
      .separated_by(',');
  command
      .option(
          "--limits", options->study.limits, "LIST",
          "Bandwidth limits of each core, ascending, at least 1MB/s; executions without a limit are measured as well")
      .default_shown()
      .separated_by(',');
  command.option("--corunners", options->study.corunners, "N",
                 "Maximum number of concurrent programs that sweep memory, on cores 1, 2, ... (default: one for each "
                 "core except the core that feeds the device)");
  command
      .option("--runs", options->study.runs, "N",
              "Number of executions of the Winograd kernel with --runs-limit, and without it; 0: none (default: "
              "100000; 1000 if the device is a core)")
      .within(0, 10'000'000);
  command
      .option("--runs-limit", options->study.runs_limit, "BANDWIDTH",
              "Bandwidth limit of each core for the executions of --runs; at least 1MB/s")
      .default_shown();
  command
      .option("--seed", options->study.seed, "N",
              "With --simulate: seed of the noise in the model; the same seed gives the same executions")
      .default_shown();
  command.option("-o,--output", options->folder, "FOLDER",
                 "Write results.csv, limits.csv, runs.csv and charts of all three into FOLDER");
  command.json(options->json);
  command.on_run([options] { isolation(*options); });
}

} // namespace

void add_experiment(const Command& program) {
  const Command command = program.add("experiment", "Reproduce an experiment from the literature");
  command.needs_subcommand();
  add_isolation(command);
  add_experiment_memory(command);
  add_experiment_init(command);
}

} // namespace rtexec::command
