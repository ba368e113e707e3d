// What a calibration of memory bandwidth found, for people and for other programs.
#pragma once

#include "rtexec/studies/calibration/bandwidth_calibration.hpp"
#include "rtexec/studies/calibration/traffic_counters.hpp"

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace rtexec::study {

/// What counts here, or why nothing does.
struct Counting {
  std::optional<TrafficCounters> counters;
  std::string obstacle;
  [[nodiscard]] bool stand_in() const { return counters && counters->stand_in; }
};

void print(std::ostream& out, const BandwidthCalibration& calibration, const Counting& counting);
void print_proposal(std::ostream& out, const MemoryFacts& facts, const BudgetProposal& proposal);
/// `proposal`: none where a stand-in was measured. `file`: that has the facts.
[[nodiscard]] nlohmann::json to_json(const BandwidthCalibration& calibration, const Counting& counting,
                                     const std::optional<BudgetProposal>& proposal, const std::string& file);

} // namespace rtexec::study
