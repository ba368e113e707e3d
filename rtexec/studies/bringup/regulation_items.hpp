// Whether a budget of memory bandwidth is kept: a generator runs freely on the cores of one counter, and then within
// half of what it moved.
#pragma once

#include <rtexec/report.hpp>
#include <rtexec/result.hpp>
#include "rtexec/studies/bringup/item.hpp"
#include "rtexec/studies/calibration/traffic_counters.hpp"

#include <string>
#include <vector>

namespace rtexec::bringup {

struct RegulationTrial {
  std::vector<unsigned> cores;   // of one counter
  double freely = 0;             // what the generators moved without a budget, in bytes/s, as they say themselves
  double within = 0;             // and within it
  double accuracy = 1;           // of what they moved freely, what was counted
  DomainReport domain;           // while the budget was in force; it has one
  std::vector<std::string> lets; // what lets a core go that stands still, as far as it is known
};

struct RegulationTrials {
  bool stand_in = false; // the event is no memory traffic
  std::string event;
  std::string obstacle; // why nothing counts memory traffic; empty: something does
  std::vector<RegulationTrial> trials;
};

/// One trial for each cluster and kind of counter. Errors: cancelled; refused, unsupported: what the machine lacks.
[[nodiscard]] Result<RegulationTrials> try_regulation(const Subject& subject);

[[nodiscard]] Answer judge(const RegulationTrials& trials, const Subject& subject);

} // namespace rtexec::bringup
