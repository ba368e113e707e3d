// Whether the board's counters of memory traffic count, each on each cluster, proved by sweeps of known length.
#pragma once

#include "rtexec/studies/bringup/item.hpp"
#include "rtexec/studies/calibration/traffic_counters.hpp"

#include <functional>
#include <string>
#include <vector>

namespace rtexec::bringup {

/// The machine as far as counters go; functions, so that tests need none.
struct CounterMachine {
  std::vector<unsigned> online;
  bool is_virtual = false;
  std::function<study::CounterTrial(const CounterFacts& facts, const std::string& event, unsigned core)> try_counter;
};

/// "A57 cores, cluster 1"; empty: the board's file knows no kinds.
[[nodiscard]] std::string cluster_of(unsigned core, const Board& board);

[[nodiscard]] Answer prove_counters(const Subject& subject, const CounterMachine& machine);

} // namespace rtexec::bringup
