#include "rtexec/cli/command/experiment_memory.hpp"

#include "rtexec/cli/command/command.hpp"
#include "rtexec/cli/terminal/progress.hpp"
#include "rtexec/cli/command/results.hpp"
#include "rtexec/cli/reports/report_text.hpp"
#include "rtexec/cli/reports/memory_experiment_report.hpp"

#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

namespace rtexec::command {

namespace {

struct ExperimentMemoryOptions {
  study::MemoryExperimentOptions study;
  std::string folder;
  std::string json;
};

study::MemoryExperiment measure(const study::MemoryExperimentSetup& setup, const StopRequest& stop) {
  Progress progress(&stop);
  const std::size_t wanted = count_measurements(setup.study);
  std::size_t done = 0;
  return must(run_memory_experiment(*setup.platform, setup.study,
                                    [&] { return progress("measuring", ++done, wanted, "cases"); }));
}

void memory(const ExperimentMemoryOptions& options) {
  const StopRequest stop;
  const auto setup = must(study::memory_experiment_setup(options.study));
  const ResultFolder folder(options.folder);
  OutputFile json_file = must(OutputFile::open(options.json));
  std::ostream& out = text_output(options.json);
  const auto found = measure(setup, stop);
  print(out, setup, found);
  save(options.folder, files_of(setup, found), out);
  must(write_json(json_file, to_json(setup, found)));
}

} // namespace

void add_experiment_memory(const Command& experiment) {
  const Command command = experiment.add(
      "memory",
      "Run micro-benchmarks under the memory policies D, M and H: alone, in pairs, and seven together with the "
      "policies that are chosen for each (Bateni et al., RTAS 2020: Figs. 2, 3, 5, 8, 9, Tables I, II, IV, V)");
  const auto options = std::make_shared<ExperimentMemoryOptions>();
  const Option simulate =
      command
          .option("--simulate", options->study.simulate, "BOARD",
                  "Simulate a model of this board of the paper, instead of measuring on this machine")
          .one_of({"tx2", "xavier"});
  command.option("--board", options->study.board, "BOARD", "Board, by name or path, with the device")
      .default_shown()
      .excludes(simulate);
  command.option("--workloads", options->study.workloads, "LIST", "Micro-benchmarks to run (default: all)")
      .separated_by(',');
  command
      .option("--largest", options->study.largest, "SIZE",
              "Maximum size of an array on a machine (default: 256MiB on a GPU, 16MiB on a host device)")
      .default_shown()
      .excludes(simulate);
  command
      .option("--repeats", options->study.repeats, "N",
              "Minimum number of jobs for each median; short jobs are measured up to 41 times")
      .default_shown()
      .within(1, 1000);
  command
      .option("--seed", options->study.seed, "N",
              "With --simulate: seed of the noise in the model; the same seed gives the same times")
      .default_shown();
  command.option("-o,--output", options->folder, "FOLDER",
                 "Write tables as CSV and charts into FOLDER; files of the same names are overwritten");
  command.json(options->json);
  command.on_run([options] { memory(*options); });
}

} // namespace rtexec::command
