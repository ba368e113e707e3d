#include "rtexec/command/calibrate_bandwidth.hpp"

#include "config/board_writer.hpp"
#include "config/files.hpp"
#include <rtexec/board.hpp>
#include "rtexec/command/board_target.hpp"
#include "rtexec/command/command.hpp"
#include "rtexec/command/progress.hpp"
#include "rtexec/command/text.hpp"
#include "rtexec/command/validators.hpp"
#include "rtexec/executive/loaded_set.hpp"
#include "rtexec/study/bandwidth_calibration.hpp"
#include "rtexec/study/traffic_counters.hpp"
#include "tasks/traffic/caches.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>

namespace rtexec::command {

namespace {

using study::BandwidthCalibration;
using study::BudgetProposal;
using study::CoreTraffic;
using study::TrafficCounters;

struct Options {
  std::string board = "host";
  std::string output, event, demand, json;
  double seconds = 1;
};

/// What counts here, or why nothing does.
struct Counting {
  std::optional<TrafficCounters> counters;
  std::string obstacle;
  [[nodiscard]] bool stand_in() const { return counters && counters->stand_in; }
};

std::string text_of(double value, int digits) {
  char text[48];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string megabytes(Bandwidth value) { return text_of(static_cast<double>(value.bytes_per_second) * 1e-6, 1); }

/// An event that was asked for must count.
Result<Counting> counting(const Options& options, const Board& board, const regulation::RegulatedMachine& machine) {
  auto found = study::find_counters(board, options.event, machine.online, machine);
  if (found) return Counting{.counters = std::move(*found), .obstacle = {}};
  if (!options.event.empty() || found.error().code != Errc::refused) return Unexpected(found.error());
  return Counting{.counters = {}, .obstacle = found.error().what};
}

study::CalibratedCores cores_of(const Options& options, const Counting& counting, const std::vector<unsigned>& cores) {
  const auto kind = counting.counters ? counting.counters->corunners : study::CorunnerKind::lines;
  auto machine =
      study::cores_of_this_machine(kind, counting.counters ? counting.counters->line() : tasks::cache_facts().line);
  machine.cores = cores;
  if (counting.counters) machine.counters = counting.counters->choices;
  machine.going_on = [] { return !stop_wanted(); };
  machine.length = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(options.seconds));
  return machine;
}

void print_counting(std::ostream& out, const Counting& counting) {
  if (counting.stand_in())
    out << "A stand-in, not memory traffic: " << counting.counters->event << " are counted"
        << (counting.counters->corunners == study::CorunnerKind::pages ? ", and generators touch pages" : "")
        << "; nothing is written\n";
  if (counting.counters)
    for (const hal::CounterChoice& each : counting.counters->choices) out << each.reason << '\n';
  else out << "The counter's columns are empty: " << counting.obstacle << '\n';
}

void print_alone(std::ostream& out, const BandwidthCalibration& calibration) {
  Table table({"core alone", "by generator, MB/s", "lines counted", "by counter, MB/s", "accuracy"});
  for (const CoreTraffic& each : calibration.alone) {
    const auto accuracy = each.accuracy();
    table.add({std::to_string(each.core), megabytes(each.reported),
               each.counted ? std::to_string(each.counted->lines) : "-",
               each.counted ? megabytes(each.counted->bandwidth) : "-", accuracy ? text_of(*accuracy, 1) + " %" : "-"});
  }
  table.print(out);
}

void print_together(std::ostream& out, const BandwidthCalibration& calibration) {
  out << "Together, MB/s:";
  for (std::size_t i = 0; i < calibration.together.size(); ++i)
    out << (i == 0 ? " " : ", ") << i + 1 << ": " << megabytes(calibration.together[i]);
  out << '\n';
}

void print_proposal(std::ostream& out, const MemoryFacts& facts, const BudgetProposal& proposal) {
  out << "One core reaches " << to_string(facts.core_bandwidth) << ", all together " << to_string(facts.saturation)
      << '\n';
  out << "Budgets that all cores may have at once: [[bandwidth.core]] budget = \"" << to_string(proposal.each)
      << "\"\n";
  out << (proposal.best_effort
              ? "Beside the device: [bandwidth] best_effort = \"" + to_string(*proposal.best_effort) + "\": "
              : "Beside the device: ")
      << proposal.reason << '\n';
}

nlohmann::json to_json(const BandwidthCalibration& calibration, const Counting& counting,
                       const std::optional<BudgetProposal>& proposal, const std::string& file) {
  nlohmann::json alone = nlohmann::json::array(), together = nlohmann::json::array();
  for (const CoreTraffic& each : calibration.alone) {
    const auto accuracy = each.accuracy();
    alone.push_back(
        {{"core", each.core},
         {"reported_bytes_per_second", each.reported.bytes_per_second},
         {"lines", each.counted ? nlohmann::json(each.counted->lines) : nlohmann::json(nullptr)},
         {"counted_bytes_per_second",
          each.counted ? nlohmann::json(each.counted->bandwidth.bytes_per_second) : nlohmann::json(nullptr)},
         {"accuracy_percent", accuracy ? nlohmann::json(*accuracy) : nlohmann::json(nullptr)}});
  }
  for (const Bandwidth each : calibration.together) together.push_back(each.bytes_per_second);
  nlohmann::json json{{"event", counting.counters ? nlohmann::json(counting.counters->event) : nlohmann::json(nullptr)},
                      {"stand_in", counting.stand_in()},
                      {"not_counted", counting.obstacle},
                      {"alone", std::move(alone)},
                      {"together_bytes_per_second", std::move(together)}};
  if (!proposal) return json;
  const MemoryFacts facts = calibration.facts();
  json["core_bandwidth_bytes_per_second"] = facts.core_bandwidth.bytes_per_second;
  json["saturation_bytes_per_second"] = facts.saturation.bytes_per_second;
  json["budget_bytes_per_second"] = proposal->each.bytes_per_second;
  json["best_effort_bytes_per_second"] =
      proposal->best_effort ? nlohmann::json(proposal->best_effort->bytes_per_second) : nlohmann::json(nullptr);
  json["reason"] = proposal->reason;
  json["file"] = file;
  return json;
}

Result<std::optional<Bandwidth>> demand_of(const Options& options) {
  if (options.demand.empty()) return std::nullopt;
  const auto demand = parse_bandwidth(options.demand);
  if (!demand) return fail(demand.error().code, "--demand " + options.demand + ": " + demand.error().what);
  return *demand;
}

Result<BandwidthCalibration> measure(const study::CalibratedCores& cores, std::ostream& out) {
  stop_on_signals();
  Progress progress(out);
  std::size_t done = 0;
  return study::calibrate_bandwidth(cores,
                                    [&] { return progress("measuring", ++done, count_measurements(cores), "cases"); });
}

/// Nothing is written of a stand-in.
int calibrate_stand_in(const Options& options, const Counting& counting, const study::CalibratedCores& cores) {
  if (!options.output.empty())
    return report({Errc::bad_input, "--event " + options.event +
                                        ": is no memory traffic, and so nothing is written to " + options.output +
                                        ": leave out -o"});
  std::ostream& out = text_output(options.json);
  const auto measured = measure(cores, out);
  if (!measured) return report(measured.error());
  print_counting(out, counting);
  print_alone(out, *measured);
  print_together(out, *measured);
  if (const auto written = write_json(options.json, to_json(*measured, counting, {}, "")); !written)
    return report(written.error());
  return 0;
}

int calibrate_memory(const Options& options, const Counting& counting, const study::CalibratedCores& cores,
                     std::optional<Bandwidth> demand) {
  const auto target = board_target(options.board, options.output);
  if (!target) return report(target.error());
  std::ostream& out = text_output(options.json);
  const auto measured = measure(cores, out);
  if (!measured) return report(measured.error());
  const MemoryFacts facts = measured->facts();
  const auto text = with_memory(target->toml, facts);
  if (!text) return report(text.error());
  if (const auto written = config::replace_file(target->output, *text); !written) return report(written.error());
  const BudgetProposal proposal = study::propose_budgets(facts, cores.cores.size(), demand);
  print_counting(out, counting);
  print_alone(out, *measured);
  print_together(out, *measured);
  print_proposal(out, facts, proposal);
  out << "wrote [memory] to " << target->output.string() << ": name it in task sets as board = \"./"
      << target->output.filename().string() << "\"\n";
  if (const auto written = write_json(options.json, to_json(*measured, counting, proposal, target->output.string()));
      !written)
    return report(written.error());
  return 0;
}

int calibrate(const Options& options) {
  const auto board = read_board(options.board);
  if (!board) return report(board.error());
  const auto demand = demand_of(options);
  if (!demand) return report(demand.error());
  const auto machine = regulation::this_machine();
  const auto counted = counting(options, *board, machine);
  if (!counted) return report(counted.error());
  const auto cores = cores_of(options, *counted, machine.online);
  return counted->stand_in() ? calibrate_stand_in(options, *counted, cores)
                             : calibrate_memory(options, *counted, cores, *demand);
}

} // namespace

CLI::App* add_calibrate_bandwidth(CLI::App& calibrating, int& exit_code) {
  auto* command =
      calibrating.add_subcommand("bandwidth",
                                 "Measure what memory bandwidth one core and all cores reach, hold counters against "
                                 "traffic generators, and write [memory] into the board's file");
  const auto options = std::make_shared<Options>();
  command->add_option("board", options->board, "A board by name or path")->capture_default_str();
  command
      ->add_option("-o,--output", options->output,
                   "The calibrated board (default: the board's own file, or NAME.toml here for a builtin board)")
      ->type_name("FILE.toml");
  command
      ->add_option("--event", options->event,
                   "That counts memory traffic (default: the board's, or cache-misses); with page-faults, a stand-in, "
                   "generators touch pages and nothing is written")
      ->check(not_empty())
      ->type_name("EVENT");
  command
      ->add_option("--seconds", options->seconds,
                   "Of each measurement: one for each core, and one for each number of cores")
      ->capture_default_str()
      ->check(number_within(0.01, 3600.0))
      ->type_name("S");
  command
      ->add_option(
          "--demand", options->demand,
          "What the device and the core that feeds it need at worst: the budget of other cores is what it leaves")
      ->check(not_empty())
      ->type_name("BANDWIDTH");
  add_json_option(*command, options->json);
  command->callback([options, &exit_code] { exit_code = calibrate(*options); });
  return command;
}

} // namespace rtexec::command
