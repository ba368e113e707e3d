// Checks that each of the board's counters of memory traffic counts, on each cluster, by sweeps of known length.
#pragma once

#include "rtexec/studies/bringup/item.hpp"
#include "rtexec/studies/calibration/traffic_counters.hpp"

#include <functional>
#include <string>
#include <vector>

namespace rtexec::bringup {

/// The machine's facts about counters. Tests replace the functions.
struct CounterMachine {
  std::vector<unsigned> online;
  bool is_virtual = false;
  std::function<study::CounterTrial(const CounterFacts& facts, const std::string& event, unsigned core)> try_counter;
};

/// Returns the core's cluster, "A57 cores, cluster 1"; empty if the board's file names no core kinds.
[[nodiscard]] std::string cluster_of(unsigned core, const Board& board);

[[nodiscard]] Answer prove_counters(const Subject& subject, const CounterMachine& machine);

} // namespace rtexec::bringup
