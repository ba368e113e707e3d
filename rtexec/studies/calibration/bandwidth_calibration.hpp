// What bandwidth the cores of a machine reach, alone and together, and whether a counter sees it: write sweeps on 1 to
// n cores, as Nigam's thesis (Fig. 17 and Table 2) measured its board. And what budgets follow.
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/result.hpp>
#include "hal/bandwidth_counter.hpp"
#include "rtexec/studies/calibration/corunner.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rtexec::study {

/// Functions, so that tests need no machine.
struct CalibratedCores {
  std::vector<unsigned> cores;                      // in the order in which generators are added
  std::vector<hal::CounterChoice> counters;         // of their domains; empty: nothing counts
  Duration length{0};                               // of each measurement
  Duration settling{std::chrono::milliseconds(50)}; // before it
  StartCorunner corun;
  std::function<Result<std::unique_ptr<hal::BandwidthCounter>>(const hal::CounterSettings&)> open_counter;
  std::function<Instant()> now;
  std::function<void(Duration)> rest;
  /// False: the user wants no more; asked while it measures
  std::function<bool()> going_on = [] { return true; };
};
/// Of this machine, but for cores and counters.
[[nodiscard]] CalibratedCores cores_of_this_machine(CorunnerKind kind, Bytes line);

/// A generator alone on a core; a row of Table 2.
struct CoreTraffic {
  struct Counted {
    std::uint64_t lines = 0;
    Bandwidth bandwidth{0};
  };
  unsigned core = 0;
  Bandwidth reported{0};          // by the generator
  std::optional<Counted> counted; // absent: nothing counts
  /// Counted of reported, in percent; absent: nothing counts, or nothing moved.
  [[nodiscard]] std::optional<double> accuracy() const;
};

struct BandwidthCalibration {
  std::vector<CoreTraffic> alone;  // by core
  std::vector<Bandwidth> together; // by generators, from 1 on; as they report
  /// The fastest core alone, in either table, and the most that any number of them reaches; rounded down to 1 MB/s.
  [[nodiscard]] MemoryFacts facts() const;
};

/// How many measurements that is: a call of `going_on` after each.
[[nodiscard]] std::size_t count_measurements(const CalibratedCores& cores);
/// cancelled: `going_on`, or that of `cores`, returned false; the generators' and the counters' errors; io_error: a
/// counter cannot be read; refused: a core's generator moved nothing, however often it was measured.
[[nodiscard]] Result<BandwidthCalibration> calibrate_bandwidth(const CalibratedCores& cores,
                                                               const std::function<bool()>& going_on);

/// Where to begin; rounded down to 1 MB/s.
struct BudgetProposal {
  Bandwidth each{0};                    // for [[bandwidth.core]]: what all cores may have at once
  std::optional<Bandwidth> best_effort; // for [bandwidth]; absent: the demand leaves nothing
  std::string reason;                   // of best_effort
};
/// "14400MB/s", the unit of all that a calibration prints.
[[nodiscard]] std::string in_megabytes(Bandwidth value);

/// `demand`: what the device, and the core that feeds it, need at worst; not known: 100 MB/s, to begin with.
[[nodiscard]] BudgetProposal propose_budgets(const MemoryFacts& facts, std::size_t cores,
                                             std::optional<Bandwidth> demand);

} // namespace rtexec::study
