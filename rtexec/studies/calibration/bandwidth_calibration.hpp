// Measures the bandwidth that the cores of a machine reach, alone and together, and whether a counter sees it. It uses
// write sweeps on 1 to n cores, as Nigam's thesis (Fig. 17 and Table 2) did. Proposes budgets from the result.
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

/// The measured cores. Functions represent the machine, so that tests need none.
struct CalibratedCores {
  std::vector<unsigned> cores;                      // in the order in which generators start
  std::vector<hal::CounterChoice> counters;         // counters of the cores' domains; empty: nothing counts
  Duration length{0};                               // length of each measurement
  Duration settling{std::chrono::milliseconds(50)}; // time before each measurement
  StartCorunner corun;
  std::function<Result<std::unique_ptr<hal::BandwidthCounter>>(const hal::CounterSettings&)> open_counter;
  std::function<Instant()> now;
  std::function<void(Duration)> rest;
  /// Returns false if the user wants to stop; called during measurements
  std::function<bool()> going_on = [] { return true; };
};
/// Returns the functions of this machine, without cores and counters.
[[nodiscard]] CalibratedCores cores_of_this_machine(CorunnerKind kind, Bytes line);

/// A generator alone on a core: a row of Table 2.
struct CoreTraffic {
  struct Counted {
    std::uint64_t lines = 0;
    Bandwidth bandwidth{0};
  };
  unsigned core = 0;
  Bandwidth reported{0};          // reported by the generator
  std::optional<Counted> counted; // absent: nothing counts
  /// Returns counted bytes in percent of reported ones; nullopt if nothing counts, or nothing moved.
  [[nodiscard]] std::optional<double> accuracy() const;
};

struct BandwidthCalibration {
  std::vector<CoreTraffic> alone;  // by core
  std::vector<Bandwidth> together; // by number of generators, from 1 on; reported by them
  /// Returns the fastest core alone, in either table, and the largest sum of any number of cores. Both are rounded down
  /// to 1 MB/s.
  [[nodiscard]] MemoryFacts facts() const;
};

/// Returns the number of measurements; `going_on` is called after each.
[[nodiscard]] std::size_t count_measurements(const CalibratedCores& cores);
/// Runs the calibration. Returns cancelled if `going_on`, or that of `cores`, returned false. Returns refused if a
/// core's generator moved nothing in repeated measurements, io_error if a counter cannot be read, and other errors of
/// generators and counters.
[[nodiscard]] Result<BandwidthCalibration> calibrate_bandwidth(const CalibratedCores& cores,
                                                               const std::function<bool()>& going_on);

/// A first choice of budgets, rounded down to 1 MB/s.
struct BudgetProposal {
  Bandwidth each{0};                    // for [[bandwidth.core]]: a budget that all cores may use at once
  std::optional<Bandwidth> best_effort; // for [bandwidth]; absent: the demand leaves nothing
  std::string reason;                   // explanation of best_effort
};
/// Returns "14400MB/s", in the unit of all that a calibration prints.
[[nodiscard]] std::string in_megabytes(Bandwidth value);

/// Proposes budgets. `demand` is the worst-case need of the device and the core that feeds it; if it is not known, the
/// proposal starts with 100 MB/s.
[[nodiscard]] BudgetProposal propose_budgets(const MemoryFacts& facts, std::size_t cores,
                                             std::optional<Bandwidth> demand);

} // namespace rtexec::study
