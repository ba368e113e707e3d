// Measures the memory bandwidth that the cores of a machine reach, alone and together, and checks if counters count
// this traffic. Traffic generators on 1 to n cores write memory, as in Nigam's thesis (Fig. 17 and Table 2). Proposes
// budgets from the result.
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

/// The cores to measure. The machine is accessed only by functions, so that tests can replace it.
struct CalibratedCores {
  std::vector<unsigned> cores;                      // in the order in which traffic generators start
  std::vector<hal::CounterChoice> counters;         // counters of the cores' domains; empty: no counter
  Duration length{0};                               // length of each measurement
  Duration settling{std::chrono::milliseconds(50)}; // pause before each measurement
  StartCorunner corun;
  std::function<Result<std::unique_ptr<hal::BandwidthCounter>>(const hal::CounterSettings&)> open_counter;
  std::function<Instant()> now;
  std::function<void(Duration)> rest;
  /// Returns false if the user wants to stop. The function is called during measurements
  std::function<bool()> going_on = [] { return true; };
};
/// Returns a struct whose functions access this machine. The caller adds the cores and their counters.
[[nodiscard]] CalibratedCores cores_of_this_machine(CorunnerKind kind, Bytes line);

/// The traffic of a generator on a core while no other generator runs: one row of Table 2 in Nigam's thesis.
struct CoreTraffic {
  struct Counted {
    std::uint64_t lines = 0;
    Bandwidth bandwidth{0};
  };
  unsigned core = 0;
  Bandwidth reported{0};          // the bandwidth that the generator reports
  std::optional<Counted> counted; // absent: the core has no counter
  /// Returns counted bytes in percent of reported bytes. Returns nullopt if the core has no counter, or if its
  /// generator moved nothing.
  [[nodiscard]] std::optional<double> accuracy() const;
};

struct BandwidthCalibration {
  std::vector<CoreTraffic> alone;  // the traffic of each core, measured alone
  std::vector<Bandwidth> together; // the reported sum, by number of generators from 1 on
  /// Returns two bandwidths: the bandwidth of the fastest core when it runs alone (in `alone`, or in the first entry of
  /// `together`), and the largest sum that any number of cores reached. Both bandwidths are rounded down to 1 MB/s.
  [[nodiscard]] MemoryFacts facts() const;
};

/// Returns the number of measurements in a calibration. The calibration calls `going_on` after each measurement.
[[nodiscard]] std::size_t count_measurements(const CalibratedCores& cores);
/// Runs the calibration. Returns cancelled if `going_on` or `cores.going_on` returned false. Returns refused if a
/// core's generator moved no data in repeated measurements. Returns io_error if a counter cannot be read. Also returns
/// errors of generators and counters.
[[nodiscard]] Result<BandwidthCalibration> calibrate_bandwidth(const CalibratedCores& cores,
                                                               const std::function<bool()>& going_on);

/// Proposed budgets, rounded down to 1 MB/s.
struct BudgetProposal {
  Bandwidth each{0};                    // for [[bandwidth.core]]: all cores may use this bandwidth at the same time
  std::optional<Bandwidth> best_effort; // for [bandwidth]; absent: no bandwidth is left
  std::string reason;                   // explanation of `best_effort` for the user
};
/// Returns a bandwidth as text: "14400MB/s". A calibration prints every bandwidth in this unit.
[[nodiscard]] std::string in_megabytes(Bandwidth value);

/// Proposes budgets. `demand`: the worst-case bandwidth of the device and of the core that feeds it. If it is not
/// known, the proposed budget of best-effort work is 100 MB/s, as a starting point.
[[nodiscard]] BudgetProposal propose_budgets(const MemoryFacts& facts, std::size_t cores,
                                             std::optional<Bandwidth> demand);

} // namespace rtexec::study
