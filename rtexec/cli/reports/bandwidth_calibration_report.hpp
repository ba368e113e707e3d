// Results of a calibration of memory bandwidth, as text for people and as JSON for other programs.
#pragma once

#include "rtexec/studies/calibration/bandwidth_calibration.hpp"
#include "rtexec/studies/calibration/traffic_counters.hpp"

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace rtexec::study {

/// The counters of memory traffic in use, or the reason why no counter is used.
struct Counting {
  std::optional<TrafficCounters> counters;
  std::string obstacle;
  [[nodiscard]] bool stand_in() const { return counters && counters->stand_in; }
};

void print(std::ostream& out, const BandwidthCalibration& calibration, const Counting& counting);
void print_proposal(std::ostream& out, const MemoryFacts& facts, const BudgetProposal& proposal);
/// Returns the results. `proposal` is nullopt if the event was only a substitute for memory traffic. `file` is the
/// board file that contains the results.
[[nodiscard]] nlohmann::json to_json(const BandwidthCalibration& calibration, const Counting& counting,
                                     const std::optional<BudgetProposal>& proposal, const std::string& file);

} // namespace rtexec::study
