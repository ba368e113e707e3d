#include "config/base/text.hpp"
#include "rtexec/cli/reports/bandwidth_calibration_report.hpp"

#include "rtexec/cli/text/table.hpp"

#include <nlohmann/json.hpp>
#include <ostream>

namespace rtexec::study {
namespace {

std::string megabytes(Bandwidth value) { return config::fixed(static_cast<double>(value.bytes_per_second) * 1e-6, 1); }

void print_counting(std::ostream& out, const Counting& counting) {
  if (counting.stand_in())
    out << "A substitute, not memory traffic: " << counting.counters->event << " are counted"
        << (counting.counters->corunners == CorunnerKind::pages ? ", and generators touch pages" : "")
        << "; nothing is written\n";
  if (counting.counters)
    for (const hal::CounterChoice& each : counting.counters->choices) out << each.reason << '\n';
  else out << "The counter's columns are empty: " << counting.obstacle << '\n';
}

void print_alone(std::ostream& out, const BandwidthCalibration& calibration) {
  report::Table table({"core alone", "by generator, MB/s", "lines counted", "by counter, MB/s", "accuracy"});
  for (const CoreTraffic& each : calibration.alone) {
    const auto accuracy = each.accuracy();
    table.add(
        {std::to_string(each.core), megabytes(each.reported), each.counted ? std::to_string(each.counted->lines) : "-",
         each.counted ? megabytes(each.counted->bandwidth) : "-", accuracy ? config::fixed(*accuracy, 1) + " %" : "-"});
  }
  table.print(out);
}

void print_together(std::ostream& out, const BandwidthCalibration& calibration) {
  out << "Together, MB/s:";
  for (std::size_t i = 0; i < calibration.together.size(); ++i)
    out << (i == 0 ? " " : ", ") << i + 1 << ": " << megabytes(calibration.together[i]);
  out << '\n';
}

} // namespace

void print(std::ostream& out, const BandwidthCalibration& calibration, const Counting& counting) {
  print_counting(out, counting);
  print_alone(out, calibration);
  print_together(out, calibration);
}

void print_proposal(std::ostream& out, const MemoryFacts& facts, const BudgetProposal& proposal) {
  out << "One core reaches " << in_megabytes(facts.core_bandwidth) << ", all together "
      << in_megabytes(facts.saturation) << '\n';
  out << "Budgets that all cores may have at once: [[bandwidth.core]] budget = \"" << in_megabytes(proposal.each)
      << "\"\n";
  out << (proposal.best_effort
              ? "Beside the device: [bandwidth] best_effort = \"" + in_megabytes(*proposal.best_effort) + "\": "
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

} // namespace rtexec::study
