// Checks that a memory bandwidth budget is kept. Generators (threads that only move memory) run without a budget on the
// cores of one counter. Then they run again, with a budget of half the bandwidth that they reached.
#pragma once

#include <rtexec/report.hpp>
#include <rtexec/result.hpp>
#include "rtexec/studies/bringup/item.hpp"
#include "rtexec/studies/calibration/traffic_counters.hpp"

#include <string>
#include <vector>

namespace rtexec::bringup {

struct RegulationTrial {
  std::vector<unsigned> cores;   // the cores of one counter
  double freely = 0;             // the bytes/s that the generators report without a budget
  double within = 0;             // the bytes/s that the generators report with the budget
  double accuracy = 1;           // counted bytes / bytes that the generators report, measured without a budget
  DomainReport domain;           // the domain's report on the interval with the budget; its `budget` is set
  std::vector<std::string> lets; // known reasons why a stalled core may continue to move memory
};

struct RegulationTrials {
  bool stand_in = false; // true if the counted event is a substitute and not memory traffic
  std::string event;
  std::string obstacle; // the reason why memory traffic cannot be counted; empty if it can be counted
  std::vector<RegulationTrial> trials;
};

/// Runs one trial for each cluster and kind of counter. Returns cancelled if the user stopped it. Returns refused or
/// unsupported, with the feature that the machine lacks, if no trial is possible.
[[nodiscard]] Result<RegulationTrials> try_regulation(const Subject& subject);

[[nodiscard]] Answer judge(const RegulationTrials& trials, const Subject& subject);

} // namespace rtexec::bringup
