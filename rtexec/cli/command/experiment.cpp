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
  const Option simulate =
      command.flag("--simulate", options->study.simulate,
                   "On a model of a Jetson TX2, calibrated on the thesis's figures, not on this machine");
  command
      .option("--board", options->study.board, "BOARD",
              "Board with the device and counters of its cores' traffic: a name or a file")
      .default_shown()
      .excludes(simulate);
  command
      .option("--event", options->study.event, "EVENT",
              "Event that counts traffic (default: the board's, or cache-misses); page-faults: a substitute for tests, "
              "co-runners touch pages and no memory traffic is limited")
      .excludes(simulate)
      .not_empty();
  command.option("--seconds", options->study.seconds, "S", "Minimum duration of each measurement on a machine")
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
              "thesis (all cores are limited; on a machine, where its device is a GPU), rtexec (the core that "
              "feeds the device is not; default: both)")
      .separated_by(',');
  command
      .option("--workloads", options->study.workloads, "LIST",
              "winograd-256p, winograd-512p, winograd-1024p, winograd-2048p; of the model also yolo, detectnet; "
              "on a machine those of --model (default: all)")
      .separated_by(',');
  command
      .option("--limits", options->study.limits, "LIST",
              "Limits of each core, ascending, at least 1MB/s; no limit is measured as well")
      .default_shown()
      .separated_by(',');
  command.option("--corunners", options->study.corunners, "N",
                 "Maximum number of programs that sweep memory, on cores 1, 2, ... (default: one for each core except "
                 "the one that feeds the device)");
  command
      .option("--runs", options->study.runs, "N",
              "Executions of the Winograd kernel, with and without --runs-limit; 0: none (default: 100000, where "
              "the device is a core 1000)")
      .within(0, 10'000'000);
  command
      .option("--runs-limit", options->study.runs_limit, "BANDWIDTH",
              "Limit of each core for these executions; at least 1MB/s")
      .default_shown();
  command
      .option("--seed", options->study.seed, "N",
              "Seed of the noise in the model: the same seed gives the same executions")
      .default_shown();
  command.option("-o,--output", options->folder, "FOLDER",
                 "Write results.csv, limits.csv, runs.csv and charts of all three into FOLDER");
  command.json(options->json);
  command.on_run([options] { isolation(*options); });
}

} // namespace

void add_experiment(const Command& program) {
  const Command command = program.add("experiment", "Reproduce an experiment from a paper");
  command.needs_subcommand();
  add_isolation(command);
  add_experiment_memory(command);
  add_experiment_init(command);
}

} // namespace rtexec::command
