#include "rtexec/cli/command/calibrate_bandwidth.hpp"

#include "config/board_writer.hpp"
#include "hal/core_claim.hpp"
#include <rtexec/board.hpp>
#include "rtexec/cli/options/board_target.hpp"
#include "rtexec/cli/command/command.hpp"
#include <rtexec/planning.hpp>
#include "rtexec/cli/terminal/progress.hpp"
#include "rtexec/cli/reports/report_text.hpp"
#include "rtexec/cli/reports/bandwidth_calibration_report.hpp"
#include "tasks/loads/traffic/caches.hpp"

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>

namespace rtexec::command {

namespace {

using study::BandwidthCalibration;
using study::BudgetProposal;

struct CalibrateBandwidthOptions {
  BoardOptions target;
  std::string event, demand, json;
  double seconds = 1;
};

/// Returns the counters to use, or the reason why no counter can be used. Throws Failed if the user names an event that
/// is not available.
study::Counting counting(const CalibrateBandwidthOptions& options, const Board& board,
                         const regulation::RegulatedMachine& machine) {
  auto found = study::find_counters(board, options.event, machine.online, machine);
  if (found) return study::Counting{.counters = std::move(*found), .obstacle = {}};
  if (!options.event.empty() || found.error().code != Errc::refused) throw Failed{found.error()};
  return study::Counting{.counters = {}, .obstacle = found.error().what};
}

study::CalibratedCores cores_of(const CalibrateBandwidthOptions& options, const study::Counting& counting,
                                const std::vector<unsigned>& cores, const StopRequest& stop) {
  const auto kind = counting.counters ? counting.counters->corunners : study::CorunnerKind::lines;
  auto machine =
      study::cores_of_this_machine(kind, counting.counters ? counting.counters->line() : tasks::cache_facts().line);
  machine.cores = cores;
  if (counting.counters) machine.counters = counting.counters->choices;
  machine.going_on = [&stop] { return !stop.asked(); };
  machine.length = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(options.seconds));
  return machine;
}

BandwidthCalibration measure(const study::CalibratedCores& cores, const StopRequest& stop) {
  Progress progress(&stop);
  std::size_t done = 0;
  return must(study::calibrate_bandwidth(
      cores, [&] { return progress("measuring", ++done, count_measurements(cores), "cases"); }));
}

/// Measures with an event that is only a substitute for memory traffic. Prints the results, but writes no board file.
void calibrate_stand_in(const CalibrateBandwidthOptions& options, const study::Counting& counting,
                        const study::CalibratedCores& cores, const StopRequest& stop, OutputFile& json_file) {
  if (!options.target.output.empty())
    give_up(Errc::bad_input, "--event " + options.event +
                                 ": does not count memory traffic, so nothing can be written to " +
                                 options.target.output + ": leave out -o");
  std::ostream& out = text_output(options.json);
  const auto measured = measure(cores, stop);
  print(out, measured, counting);
  must(write_json(json_file, to_json(measured, counting, {}, "")));
}

void calibrate_memory(const CalibrateBandwidthOptions& options, const study::Counting& counting,
                      const study::CalibratedCores& cores, std::optional<Bandwidth> demand, const StopRequest& stop,
                      OutputFile& json_file) {
  auto target = board_target(options.target);
  std::ostream& out = text_output(options.json);
  const auto measured = measure(cores, stop);
  const MemoryFacts facts = measured.facts();
  must(target.file.write(must(with_memory(target.toml, facts))));
  const BudgetProposal proposal = study::propose_budgets(facts, cores.cores.size(), demand);
  print(out, measured, counting);
  print_proposal(out, facts, proposal);
  target.tell(out, "[memory]");
  must(write_json(json_file, to_json(measured, counting, proposal, target.output.string())));
}

void calibrate(const CalibrateBandwidthOptions& options) {
  OutputFile json_file = must(OutputFile::open(options.json));
  const StopRequest stop;
  const auto board = must(read_board(options.target.board));
  std::optional<Bandwidth> demand;
  if (!options.demand.empty()) demand = value_of("--demand", options.demand, parse_bandwidth);
  const auto machine = regulation::regulated(this_machine());
  const auto counted = counting(options, board, machine);
  const auto cores = cores_of(options, counted, machine.online, stop);
  const auto claim = must(hal::CoreClaim::take(cores.cores));
  if (counted.stand_in()) calibrate_stand_in(options, counted, cores, stop, json_file);
  else calibrate_memory(options, counted, cores, demand, stop, json_file);
}

} // namespace

Command add_calibrate_bandwidth(const Command& calibrating) {
  const Command command =
      calibrating.add("bandwidth",
                      "Measure the memory bandwidth of one core and of all cores, check the traffic counters against "
                      "traffic generators, and write [memory] into the board file");
  const auto options = std::make_shared<CalibrateBandwidthOptions>();
  options->target.add_to(command);
  command
      .option("--event", options->event, "EVENT",
              "Event that counts memory traffic (default: the board's event, or cache-misses). page-faults is a "
              "substitute for tests: the generators only access new pages, and no file is written")
      .not_empty();
  command
      .option("--seconds", options->seconds, "S",
              "Length of each measurement in seconds; there is one for each core, and one for each number of cores "
              "together")
      .default_shown()
      .within(0.01, 3600.0);
  command
      .option("--demand", options->demand, "BANDWIDTH",
              "Maximum memory bandwidth of the device and of the core that feeds it; the proposed budget of the other "
              "cores is the rest")
      .not_empty();
  command.json(options->json);
  command.on_run([options] { calibrate(*options); });
  return command;
}

} // namespace rtexec::command
