// Checks that a budget of memory bandwidth is kept. Generators run freely on the cores of one counter, and then with a
// budget of half of what they moved.
#pragma once

#include <rtexec/report.hpp>
#include <rtexec/result.hpp>
#include "rtexec/studies/bringup/item.hpp"
#include "rtexec/studies/calibration/traffic_counters.hpp"

#include <string>
#include <vector>

namespace rtexec::bringup {

struct RegulationTrial {
  std::vector<unsigned> cores;   // cores of one counter
  double freely = 0;             // bytes/s that the generators report without a budget
  double within = 0;             // bytes/s that they report with the budget
  double accuracy = 1;           // ratio of counted bytes to those that the generators moved freely
  DomainReport domain;           // report on the time in which the budget was in force; it has a budget
  std::vector<std::string> lets; // what lets a stalled core go on, as far as it is known
};

struct RegulationTrials {
  bool stand_in = false; // the event is a substitute that counts no memory traffic
  std::string event;
  std::string obstacle; // why nothing counts memory traffic; empty if something does
  std::vector<RegulationTrial> trials;
};

/// Runs one trial for each cluster and kind of counter. Returns cancelled; or refused or unsupported, with what the
/// machine lacks.
[[nodiscard]] Result<RegulationTrials> try_regulation(const Subject& subject);

[[nodiscard]] Answer judge(const RegulationTrials& trials, const Subject& subject);

} // namespace rtexec::bringup
