// Checks that each of the board's counters of memory traffic counts. On each cluster, a sweep of known length causes
// the traffic.
#pragma once

#include "rtexec/studies/bringup/item.hpp"
#include "rtexec/studies/calibration/traffic_counters.hpp"

#include <functional>
#include <string>
#include <vector>

namespace rtexec::bringup {

/// The functions of the machine that find and try counters. Tests replace them.
struct CounterMachine {
  std::vector<unsigned> online;
  bool is_virtual = false;
  std::function<study::CounterTrial(const CounterFacts& facts, const std::string& event, unsigned core)> try_counter;
};

/// Returns the name of the core's cluster, such as "A57 cores, cluster 1". Returns an empty text if the board's file
/// does not name the kinds of cores.
[[nodiscard]] std::string cluster_of(unsigned core, const Board& board);

[[nodiscard]] Answer prove_counters(const Subject& subject, const CounterMachine& machine);

} // namespace rtexec::bringup
