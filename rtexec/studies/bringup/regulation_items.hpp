// Checks that a budget of memory bandwidth is kept. Generators (threads that only move memory) run without a budget
// on the cores of one counter. They run again with half of that bandwidth as their budget.
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
  double accuracy = 1;           // counted bytes / bytes that the generators report, without a budget
  DomainReport domain;           // report on the time with the budget; its budget is set
  std::vector<std::string> lets; // known reasons why a stalled core may continue
};

struct RegulationTrials {
  bool stand_in = false; // the counted event is a substitute, not memory traffic
  std::string event;
  std::string obstacle; // reason why memory traffic cannot be counted; empty if it can
  std::vector<RegulationTrial> trials;
};

/// Runs one trial for each cluster and kind of counter. Returns cancelled, or refused or unsupported with the feature
/// that the machine lacks.
[[nodiscard]] Result<RegulationTrials> try_regulation(const Subject& subject);

[[nodiscard]] Answer judge(const RegulationTrials& trials, const Subject& subject);

} // namespace rtexec::bringup
