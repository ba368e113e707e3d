#include "rtexec/cli/command/command.hpp"
#include "rtexec/cli/terminal/progress.hpp"
#include "rtexec/cli/command/results.hpp"
#include "rtexec/cli/reports/report_text.hpp"
#include "rtexec/studies/sweep/outcome_file.hpp"
#include "rtexec/studies/sweep/presets.hpp"
#include "rtexec/studies/sweep/sweep_options.hpp"
#include "rtexec/studies/sweep/sweep_parts.hpp"
#include "rtexec/cli/reports/sweep_report.hpp"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <thread>

namespace rtexec::command {

namespace {

using study::Study;

struct SweepOptions {
  study::SweepOptions study;
  unsigned jobs = std::max(1U, std::thread::hardware_concurrency());
  std::string folder;
  std::string part;
  std::vector<std::filesystem::path> parts;
  std::string json;
};

/// Computes the missing outcomes of `part`, and adds them to `file`. Throws Failed if the user cancels or a write
/// fails.
void work_out(const SweepOptions& options, const Study& study, const study::Part& part, study::Outcomes& outcomes,
              std::optional<study::OutcomeFile>& file, std::ostream& out) {
  const StopRequest stop;
  Progress progress(&stop);
  const std::size_t size = part.size(study.sets) * study.values.size();
  std::size_t done = outcomes.count_known(part);
  if (done > 0) out << options.folder << " has " << done << " of " << size << " sets already\n";
  Result<> written;
  bool wanted = true;
  study::work_out(
      study, outcomes, options.jobs,
      [&](std::span<const std::size_t> items) {
        if (file && written) written = file->add(study, outcomes, items);
        done += items.size();
        wanted = progress("proving", done, size, "sets");
        return wanted && written.has_value();
      },
      part);
  must(written);
  if (done == size) return;
  const std::string kept =
      options.folder.empty() ? "results are lost; -o FOLDER keeps them" : "repeat the command to continue";
  give_up(Errc::cancelled,
          "the sweep was cancelled after " + std::to_string(done) + " of " + std::to_string(size) + " sets; " + kept);
}

void conclude(const SweepOptions& options, const Study& study, const study::Outcomes& outcomes, OutputFile& json_file) {
  std::ostream& out = text_output(options.json);
  const std::vector<study::Row> rows = study::rows_of(study, outcomes);
  print(out, study, rows);
  if (!options.folder.empty()) {
    write_files(options.folder, files_of(study, rows));
    out << "wrote results.csv, results.svg and outcomes.csv (each set) to " << options.folder << '\n';
  }
  must(write_json(json_file, to_json(study, rows)));
}

/// Computes one part of a sweep (--shard). Leaves its files in the folder, for merge() to combine the parts.
void sweep_part(const SweepOptions& options, const Study& study) {
  const study::Part part = value_of("--shard", options.part, study::parse_part);
  if (options.folder.empty()) give_up(Errc::bad_input, "--shard " + options.part + " needs -o FOLDER for this part");
  std::ostream& out = text_output(options.json);
  study::Outcomes outcomes(study.values.size(), study.sets);
  std::optional file = must(study::OutcomeFile::open(options.folder, study, outcomes));
  must(study::write_part(options.folder, part, options.study));
  OutputFile json_file = must(OutputFile::open(options.json));
  work_out(options, study, part, outcomes, file, out);
  out << "part " << options.part << " is in " << options.folder << "; rtexec sweep --merge FOLDER... -o FOLDER puts "
      << part.of << " together\n";
  must(write_json(
      json_file,
      {{"part", part.number}, {"parts", part.of}, {"sets", outcomes.count_known(part)}, {"folder", options.folder}}));
}

void merge(const SweepOptions& options) {
  const auto [study, parts] = must(study::put_together(options.parts));
  study::Outcomes known(study.values.size(), study.sets);
  std::optional<study::OutcomeFile> file;
  if (!options.folder.empty()) file = must(study::OutcomeFile::open(options.folder, study, known));
  OutputFile json_file = must(OutputFile::open(options.json));
  std::vector<std::size_t> missing;
  for (std::size_t item = 0; item < known.size(); ++item)
    if (!known.known(item)) missing.push_back(item);
  if (file) must(file->add(study, parts, missing));
  conclude(options, study, parts, json_file);
}

void sweep(const SweepOptions& options) {
  if (!options.parts.empty()) return merge(options);
  const auto study = must(study_of(options.study));
  if (!options.part.empty()) return sweep_part(options, study);
  study::Outcomes outcomes(study.values.size(), study.sets);
  std::optional<study::OutcomeFile> file;
  if (!options.folder.empty()) file = must(study::OutcomeFile::open(options.folder, study, outcomes));
  OutputFile json_file = must(OutputFile::open(options.json));
  work_out(options, study, {}, outcomes, file, text_output(options.json));
  conclude(options, study, outcomes, json_file);
}

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const study::Preset& preset : study::presets()) names.emplace_back(preset.name);
  return names;
}

std::string preset_help() {
  std::string help = "A predefined study; other options change it. ";
  for (const study::Preset& preset : study::presets())
    help += std::string(preset.name) + ": " + std::string(preset.title) + ". ";
  help.pop_back();
  return help;
}

void add_tasks(const Command& command, study::SweepOptions& options) {
  command.option("--n", options.tasks, "RANGE",
                 "Number of tasks in a set: N, FROM..TO or FROM..TO:STEP. One of --n, --utilisation, --reduced and "
                 "--high may be a range; the table has a row for each of its values");
  command.option(
      "--utilisation", options.utilisation, "RANGE",
      "Device utilisation of a set by its executions, which UUniFast divides among the tasks; not with presets");
  command.option("--reduced", options.reduced, "RANGE",
                 "Percentage by which the device memory is reduced; with preset mixed-rates, reduced from the memory "
                 "that all tasks of a set need");
  command.option("--high", options.high, "RANGE",
                 "Number of tasks whose network has its highest resolution; all other networks have their lowest "
                 "resolution; only with presets");
  command.option("--period", options.period, "DURATIONS",
                 "Range of the tasks' periods, FROM..TO; deadlines equal periods");
  command.option("--periods", options.periods, "HOW", "Random distribution of the periods (default: log-uniform)")
      .one_of({"uniform", "log-uniform"});
  command.option("--footprint", options.footprint, "BYTES",
                 "Range of the device memory of a task, FROM..TO, uniformly distributed; not with presets");
  command
      .option("--swappable", options.swappable, "SHARE",
              "Share of a task's device memory that may be swapped (default: 1); not with presets")
      .within(0.0, 1.0);
  command
      .option("--constants", options.constants, "SHARE",
              "For the tests classes and one-process: share of weights in the swappable memory, whose rest is scratch "
              "(default: 0.5); not with presets")
      .within(0.0, 1.0);
  command.option("--layers", options.layers, "RANGE",
                 "Number of layers of a task, N or FROM..TO; the tests segmented and segmented-one-level preempt its "
                 "jobs between two layers (default: 1); not with presets");
}

void add_device(const Command& command, study::SweepOptions& options) {
  command.option("--capacity", options.capacity, "BYTES", "Size of the device memory");
  command.option("--chunk", options.chunk, "BYTES", "Size of a chunk, the unit of swapping");
  command.option("--in-per-chunk", options.in_per_chunk, "DURATION", "Time to copy one chunk into device memory");
  command.option("--out-per-chunk", options.out_per_chunk, "DURATION", "Time to copy one chunk out of device memory");
  command.option("--drop-per-chunk", options.drop_per_chunk, "DURATION",
                 "Time to evict one chunk of weights, which is not copied (default: 0s)");
  command.option("--in-fixed", options.in_fixed, "DURATION",
                 "Fixed time to load the chunks of one job, in addition to the time of each chunk (default: 0s)");
  command.option("--out-fixed", options.out_fixed, "DURATION",
                 "Fixed time to evict the chunks of one task, in addition to the time of each chunk (default: 0s)");
  command.option("--cut-overhead", options.cut_overhead, "DURATION",
                 "Time added to a job by each division between two segments (default: 0s; preset mixed-rates: 20us)");
}

} // namespace

void add_sweep(const Command& program) {
  const Command command = program.add("sweep",
                                      "Count how many random task sets each schedulability test of the device proves; "
                                      "prints tables, writes charts and raw outcomes");
  const auto options = std::make_shared<SweepOptions>();
  command.option("--preset", options->study.preset, "NAME", preset_help()).one_of(preset_names());
  add_tasks(command, options->study);
  add_device(command, options->study);
  command
      .option("--order", options->study.order, "ORDER",
              "Order in which jobs get the device; static-priority: rate-monotonic priorities")
      .default_shown()
      .one_of({"edf", "static-priority"});
  command
      .option("--tests", options->study.tests, "LIST",
              "Tests to compare (default: all tests for the order). With one copy engine: theorem1, baker, demand "
              "(only edf), rta (only static-priority), pipelined-h1. With two copy engines: pipelined, "
              "pipelined-constant, classes, one-process. For tasks in layers, with one copy engine: utilisation, fits, "
              "pipelined, segmented-one-level, segmented")
      .separated_by(',');
  command.option("--sets", options->study.sets, "N", "Number of random task sets for each row of the table")
      .default_shown()
      .within(1, 1'000'000);
  command.option("--seed", options->study.seed, "N", "Seed of the random task sets: the same seed gives the same sets")
      .default_shown();
  command.option("--jobs", options->jobs, "N", "Number of threads that compute (default: one for each core)")
      .within(1, 1024);
  command.option("-o,--output", options->folder, "FOLDER",
                 "Write results.csv, results.svg and outcomes.csv (one line per set) into FOLDER. If FOLDER has "
                 "results of the same sweep, the sweep continues from them, also with more sets or rows");
  command.option("--shard", options->part, "K/N",
                 "Compute only part K of N parts, and write it into the FOLDER of --output, for --merge");
  std::vector<Option> of_a_study = command.options();
  std::erase_if(of_a_study, [](const Option& each) { return each.name() == "--output"; });
  command.option("--merge", options->parts, "FOLDER...",
                 "Merge the parts of --shard in these folders into the result of the complete sweep");
  command.json(options->json);
  command.on_run([options, of_a_study] {
    for (const Option& each : of_a_study)
      if (!options->parts.empty() && each.given())
        give_up(Errc::bad_input, "--merge with " + each.name() + ": leave it out; the parts contain their options");
    sweep(*options);
  });
}

} // namespace rtexec::command
