#include "config/board_writer.hpp"
#include <rtexec/board.hpp>
#include "rtexec/cli/options/board_target.hpp"
#include "rtexec/cli/command/calibrate_bandwidth.hpp"
#include "rtexec/cli/command/calibrate_cut.hpp"
#include "rtexec/cli/command/calibrate_memory.hpp"
#include "rtexec/cli/command/command.hpp"
#include "rtexec/cli/terminal/progress.hpp"
#include "rtexec/cli/reports/report_text.hpp"
#include "rtexec/cli/reports/swap_calibration_report.hpp"

#include <memory>
#include <optional>
#include <nlohmann/json.hpp>
#include <ostream>
#include <tuple>

namespace rtexec::command {

namespace {

struct CalibrateOptions {
  BoardOptions target;
  std::vector<std::string> chunks;
  std::string volume;
  std::string store = "pinned";
  executive::CalibrationOptions calibration;
  std::string json;
};

executive::CalibrationOptions calibration_of(const CalibrateOptions& options) {
  executive::CalibrationOptions result = options.calibration;
  for (const std::string& text : options.chunks) {
    const Bytes chunk = value_of("--chunk", text, parse_bytes);
    if (chunk.count == 0 || chunk.count % 4096 != 0)
      give_up(Errc::bad_input, "--chunk " + text + ": not a whole number of pages of 4096 bytes");
    result.chunks.push_back(chunk);
  }
  if (!options.volume.empty()) result.volume = value_of("--volume", options.volume, parse_bytes);
  constexpr std::string_view file = "file:";
  if (options.store.starts_with(file) && options.store.size() > file.size())
    std::tie(result.store, result.file) = std::pair(StoreKind::file, options.store.substr(file.size()));
  else if (options.store == "pageable") result.store = StoreKind::pageable;
  else if (options.store != "pinned")
    give_up(Errc::bad_input, "--store " + options.store + ": use pinned, pageable or file:PATH");
  return result;
}

void print(std::ostream& out, const executive::CalibrationEstimate& estimate) {
  out << "a first estimate: a chunk of " << readable(estimate.chunk) << " takes " << readable(estimate.in) << " in and "
      << readable(estimate.out) << " out; to measure " << estimate.sizes
      << (estimate.sizes == 1 ? " chunk size" : " chunk sizes") << " in " << estimate.runs << " runs will take about "
      << report::rough(estimate.takes) << (estimate.sizes == 1 ? "" : " (--chunk SIZE measures one alone)")
      << std::endl;
}

void calibrate(const CalibrateOptions& options) {
  const auto wanted = calibration_of(options);
  OutputFile json_file = must(OutputFile::open(options.json));
  auto target = board_target(options.target);
  std::ostream& out = text_output(options.json);
  if (target.name != options.target.board)
    out << "measures the board of " << target.output.string() << ", which exists already\n";
  const StopRequest stop;
  Progress progress(&stop);
  const executive::CalibrationObserver observer{
      .estimated = [&out](const executive::CalibrationEstimate& estimate) { print(out, estimate); },
      .measuring =
          [&](std::size_t done, std::size_t of, std::optional<Duration> left) {
            return left ? progress("calibrating", done, of, "runs", left) : !stop.asked();
          }};
  const auto measured = must(executive::calibrate(target.name, wanted, observer));
  std::vector<SwapCost> costs;
  for (const auto& each : measured.chunks) costs.push_back(each.cost);
  const auto text = must(with_measured_costs(target.toml, measured.chosen, costs));
  const auto board = must(parse_board(text, target.output));
  must(target.file.write(text));
  study::print(out, measured);
  target.tell(out, "swap costs and chunk = \"" + to_string(board.chunk) + "\"");
  must(write_json(json_file, study::to_json(measured, target.output)));
}

} // namespace

void add_calibrate(const Command& program) {
  const Command command =
      program.add("calibrate",
                  "Measure a board's costs of swapping and write them into the board file; subcommands measure memory "
                  "bandwidth, costs of memory policies, and the cost of segments");
  const auto options = std::make_shared<CalibrateOptions>();
  options->target.add_to(command);
  command
      .option("--chunk", options->chunks, "BYTES,...",
              "Measure only these chunk sizes (default: each power of two from 2MiB to 256MiB that fits at least four "
              "times into --volume)")
      .separated_by(',');
  command.option("--volume", options->volume, "BYTES",
                 "Maximum amount of memory that one job swaps (default: 1GiB; on a host device 128MiB)");
  command
      .option("--store", options->store, "STORE",
              "Store of swapped chunks: pinned (page-locked host memory), pageable (host memory that is not "
              "page-locked) or file:PATH")
      .default_shown();
  command.option("--jobs", options->calibration.jobs, "N", "Number of swapping jobs for each chunk size and volume")
      .default_shown()
      .within(3, 10000);
  command
      .option("--margin", options->calibration.margin, "FACTOR",
              "Safety factor by which the measured costs are multiplied")
      .default_shown()
      .within(1.0, 100.0);
  command.flag("--keep-awake", options->calibration.keep_awake,
               "Keep the cores out of idle states during the measurement, as for task sets with keep_awake = true");
  command.json(options->json);
  const Command bandwidth = add_calibrate_bandwidth(command);
  const Command memory = add_calibrate_memory(command);
  const Command cut = add_calibrate_cut(command);
  for (const Option& of_swapping : command.options())
    for (const Command& other : {bandwidth, memory, cut}) other.excludes(of_swapping);
  command.on_run([options, bandwidth, memory, cut] {
    if (!bandwidth.given() && !memory.given() && !cut.given()) calibrate(*options);
  });
}

} // namespace rtexec::command
