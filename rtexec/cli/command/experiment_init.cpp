#include "rtexec/cli/options/named_board.hpp"
#include "rtexec/cli/command/experiment_init.hpp"

#include <rtexec/board.hpp>
#include "hal/machine_files.hpp"
#include "hal/thread.hpp"
#include "rtexec/cli/command/command.hpp"
#include "rtexec/cli/terminal/progress.hpp"
#include "rtexec/cli/command/results.hpp"
#include "rtexec/cli/reports/report_text.hpp"
#include "rtexec/studies/experiments/initialisation_machine.hpp"
#include "rtexec/cli/reports/initialisation_report.hpp"
#include "traces/emit.hpp"
#include "traces/recording/session.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>

namespace rtexec::command {

namespace {

using study::InitialisationPlatform;
using study::InitialisationSource;

struct ExperimentInitOptions {
  std::string simulate;
  std::string board = "host";
  std::vector<std::string> workloads, sizes;
  std::optional<unsigned> tiles;
  unsigned timeline_tiles = 8, repetitions = 5;
  std::string folder;
  std::string trace;
  std::string json;
};

/// Records the measured timeline as a trace of a run. The run loads one task and releases no job.
class Recording {
 public:
  Recording(const std::string& folder, const std::string& workload)
      : session_(must(traces::Session::start(folder, {}))) {
    Task task;
    task.name = workload;
    traces::run_begin(RTEXEC_VERSION, hal::machine_name().c_str(), false, hal::now());
    traces::task_info(0, task, {});
  }
  void end() {
    traces::run_end(hal::now(), "the end of the experiment");
    must(traces::check_whole(must(session_.stop()), session_.folder()));
  }

 private:
  traces::Session session_;
};

/// The platform of the experiment. `machine` is empty if the platform is a model.
struct Setup {
  study::InitialisationMachine machine;
  std::unique_ptr<InitialisationPlatform> model;
  InitialisationSource source;
  std::vector<std::string> sizes; // default sizes
  [[nodiscard]] InitialisationPlatform& platform() const { return model ? *model : *machine.platform; }
};

Setup setup_of(const ExperimentInitOptions& options) {
  if (!options.simulate.empty())
    return {.machine = {},
            .model = study::modelled_initialisation(options.simulate),
            .source = {true, "model of " + options.simulate,
                       "A model of board " + options.simulate +
                           " that meets the figures which the paper prints, not a measurement"},
            .sizes = {"64KiB", "256KiB", "1MiB", "4MiB", "16MiB", "64MiB"}};
  const Board board = named_board(options.board);
  Setup setup{.machine = must(study::initialisation_machine(board)),
              .model = {},
              .source = {false, "measured", {}},
              .sizes = {}};
  setup.source.preface = setup.machine.description;
  setup.sizes = board.memory_is_of_host()
                    ? std::vector<std::string>{"256KiB", "1MiB", "4MiB"}
                    : std::vector<std::string>{"16MiB", "32MiB", "64MiB", "128MiB", "256MiB", "512MiB", "1GiB"};
  return setup;
}

/// Returns the size of the largest array that these workloads initialise. If a workload is unknown, returns no limit,
/// and the experiment itself reports the error.
Bytes largest(const InitialisationPlatform& platform, const std::vector<std::string>& workloads) {
  constexpr Bytes no_limit{std::numeric_limits<std::uint64_t>::max()};
  const auto known = platform.workloads();
  Bytes most{0};
  for (const std::string& each : workloads)
    most = std::max(most, std::ranges::find(known, each) != known.end() ? platform.size_of(each, no_limit) : no_limit);
  return most;
}

study::InitialisationStudy study_of(const ExperimentInitOptions& options, const Setup& setup) {
  study::InitialisationStudy study{.workloads = options.workloads,
                                   .sizes = {},
                                   .tiles = options.tiles,
                                   .timeline_tiles = options.timeline_tiles,
                                   .repetitions = options.repetitions};
  if (study.workloads.empty()) study.workloads = setup.platform().workloads();
  for (const std::string& text : options.sizes.empty() ? setup.sizes : options.sizes) {
    const Bytes size = value_of("--sizes", text, parse_bytes);
    if (size < Bytes{4096}) give_up(Errc::bad_input, "--sizes " + text + ": at least 4KiB");
    if (!study.sizes.empty() && size <= study.sizes.back())
      give_up(Errc::bad_input, "--sizes " + text + ": does not ascend; list them in ascending order");
    study.sizes.push_back(size);
  }
  if (const Bytes most = largest(setup.platform(), study.workloads);
      !options.sizes.empty() && study.sizes.back() > most)
    give_up(Errc::bad_input,
            "--sizes " + options.sizes.back() + ": its workloads have at most " + readable(most) + " of them");
  return study;
}

study::InitialisationFound measure(const Setup& setup, const study::InitialisationStudy& study) {
  const StopRequest stop;
  Progress progress(&stop);
  std::size_t begun = 0;
  const std::size_t wanted = count_measurements(setup.platform(), study);
  return must(run_initialisation(setup.platform(), study,
                                 [&] { return progress("measuring", ++begun, wanted, "measurements"); }));
}

void experiment(const ExperimentInitOptions& options) {
  const Setup setup = setup_of(options);
  const auto study = study_of(options, setup);
  const ResultFolder folder(options.folder);
  OutputFile json_file = must(OutputFile::open(options.json));
  std::ostream& out = text_output(options.json);
  if (!options.trace.empty() && !setup.platform().has_gpu())
    give_up(Errc::bad_input, "--trace: board '" + options.board + "' has no GPU: initialisation in tiles needs one");
  std::optional<Recording> recording;
  if (!options.trace.empty()) recording.emplace(options.trace, study.workloads.front());
  const auto found = measure(setup, study);
  if (recording) recording->end();
  print(out, setup.source, found);
  save(options.folder, files_of(setup.source, found), out);
  must(write_json(json_file, to_json(setup.source, found)));
}

} // namespace

void add_experiment_init(const Command& experiments) {
  const Command command =
      experiments.add("init",
                      "Measure how fast managed memory is initialised by the host, by a GPU with page faults, and by a "
                      "GPU in prefetched tiles, and how fast the next kernel then is (Wang et al., GPU-side "
                      "initialization with prefetching, figures 5 to 7)");
  const auto options = std::make_shared<ExperimentInitOptions>();
  const Option simulate =
      command
          .option("--simulate", options->simulate, "BOARD",
                  "Simulate a model of this board of the paper, instead of measuring on this machine")
          .one_of({"tx2", "xavier"});
  command
      .option("--board", options->board, "BOARD",
              "Board, by name or path, with the device; without a GPU the host initialises the memory in all cases")
      .default_shown()
      .excludes(simulate);
  command
      .option(
          "--workloads", options->workloads, "LIST",
          "Micro-benchmarks to measure: matrix-add, matrix-multiply, needleman-wunsch, random-access (default: all)")
      .separated_by(',');
  command
      .option(
          "--sizes", options->sizes, "LIST",
          "Total sizes of the initialised arrays, ascending (default: 16MiB to 1GiB on a GPU, otherwise smaller sizes)")
      .separated_by(',');
  command.option("--tiles", options->tiles, "N", "Number of tiles of each array (default: the fastest of 1, 2, 4, ...)")
      .within(1, 64);
  command
      .option("--timeline-tiles", options->timeline_tiles, "N",
              "Number of tiles in the timeline, which shows the streams of prefetches and kernels")
      .default_shown()
      .within(1, 64);
  command
      .option("--repeat", options->repetitions, "N",
              "Number of repetitions of each measurement; the median is reported")
      .default_shown()
      .within(1, 1000);
  command.option(
      "-o,--output", options->folder, "FOLDER",
      "Write initialisation.csv, kernel.csv, crossover.csv and timeline.csv, and charts of each, into FOLDER");
  command
      .option("--trace", options->trace, "DIR",
              "Record the timeline as an LTTng trace into DIR, which must be new or empty; `rtexec analyze` shows the "
              "overlap of both streams")
      .excludes(simulate);
  command.json(options->json);
  command.on_run([options] { command::experiment(*options); });
}

} // namespace rtexec::command
