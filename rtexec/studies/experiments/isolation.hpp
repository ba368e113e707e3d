// The experiment of Nigam's thesis on GPU-aware memory isolation, chapters 5 and 7. Sections and figures that this file
// cites are in the thesis. A DNN job runs on the device while 0..n co-runners (programs that sweep memory) run on other
// cores. The experiment measures the job's speed and its longest executions for several limits on the bandwidth of
// these cores. The experiment runs on a platform: the model in this file, or a machine.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/units.hpp>
#include "rtexec/studies/simulator/contention.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rtexec::study {

using BandwidthLimit = std::optional<Bandwidth>; // absent: no limit is in force

/// The conditions of one measurement.
struct IsolationCase {
  std::string workload;
  unsigned corunners = 0; // the number of co-runners, on cores 1, 2, ...
  BandwidthLimit limit;
};

struct IsolationMeasure {
  double performance = 0;     // in the workload's unit; larger is better
  Bandwidth corunners{0};     // the bandwidth of all co-runners together
  Bandwidth device{0};        // the bandwidth of the device while it worked; 0: not known
  Duration mean{0}, worst{0}; // the time of an execution (on a machine) or of a whole job (in the model)
};

struct IsolationWorkload {
  std::string name, title, unit;
};

/// The platform of the experiment. A single thread, which is not real-time, uses it. An error of a measurement ends
/// the experiment.
class IsolationPlatform {
 public:
  virtual ~IsolationPlatform() = default;
  [[nodiscard]] virtual std::string name() const = 0;        // how cores are limited: "thesis", "rtexec"
  [[nodiscard]] virtual std::string description() const = 0; // one line about the platform and the cores that it limits
  [[nodiscard]] virtual unsigned max_corunners() const = 0;
  [[nodiscard]] virtual std::vector<IsolationWorkload> workloads() const = 0;
  [[nodiscard]] virtual Result<IsolationMeasure> measure(const IsolationCase& wanted) = 0;
  /// Returns the bandwidth of 1..n sweeps together, without other load and without a limit (Nigam's thesis, Fig. 17).
  [[nodiscard]] virtual Result<Bandwidth> sweep(unsigned corunners) = 0;
  /// Returns the times of `count` successive executions of the Winograd kernel, without co-runners (Nigam's thesis,
  /// Fig. 30).
  [[nodiscard]] virtual Result<std::vector<Duration>> executions(std::size_t count, BandwidthLimit limit) = 0;
};

// ---- the model ----

struct ModelledWorkload {
  IsolationWorkload facts;
  simulator::Frame frame;
  double alone = 0; // the performance without other load and without limits
};

/// How the model limits cores: as in the thesis, or as rtexec does.
struct ModelledMode {
  std::string_view name, description;
  bool feeder = false;
  Duration reaction{0};
  Overshoot overshoot = Overshoot::forgive;
};

/// The constants of the model. isolation.cpp has the source of each constant.
struct IsolationModel {
  simulator::SharedMemory memory;
  std::vector<ModelledWorkload> workloads;
  std::vector<ModelledMode> modes;
  Duration period{0}; // the period of regulation
  Bytes line{0};
  simulator::Frame kernel; // for the executions of Fig. 30
  simulator::Noise noise;
  Duration length{0};     // the minimum length of one measurement
  std::size_t frames = 0; // the minimum number of frames of one measurement
};

/// Returns a model of a Jetson TX2 with the values that the thesis measured.
[[nodiscard]] const IsolationModel& tx2_model();
/// Returns the platform that simulates `model` in one of its modes. `model` and its modes must outlive the platform.
[[nodiscard]] std::unique_ptr<IsolationPlatform> modelled_platform(const IsolationModel& model,
                                                                   const ModelledMode& mode, std::uint64_t seed);

// ---- the experiment ----

struct IsolationStudy {
  std::vector<std::string> workloads; // the names of the measured workloads
  std::vector<Bandwidth> limits{};    // in ascending order; the case without a limit is measured in addition
  unsigned corunners = 0; // the maximum number of co-runners; all numbers from 0 to this maximum are measured
  std::size_t runs = 0;   // the number of executions with the limit, and also the number without the limit; 0: none
  Bandwidth runs_limit{0};
};

/// The measurements of one workload under one limit, with 0..n co-runners.
struct IsolationRow {
  BandwidthLimit limit;
  std::vector<IsolationMeasure> measures{}; // by number of co-runners
  std::vector<double> speedup{};            // percent, relative to the case without a limit
  double mean = 0, variance = 0; // mean and variance of the performance over numbers of co-runners (Figs. 27, 29)
};

struct IsolationResult {
  IsolationWorkload workload;
  std::vector<IsolationRow> rows{}; // by limit, ascending; the row without a limit comes last
  std::size_t best = 0;             // the index of the row with the greatest `mean`
};

struct Spread {
  Duration least{0}, worst{0};
  double mean_ns = 0, variance_ns2 = 0;
  [[nodiscard]] Duration range() const { return worst - least; }
};

struct IsolationRuns {
  Bandwidth limit{0};
  std::vector<Duration> without, with;
  Spread spread_without, spread_with;
};

struct Isolation {
  std::string name, description;
  std::vector<Bandwidth> sweeps{}; // the bandwidth of all sweeps together, by number of co-runners from 1 on
  std::vector<IsolationResult> results{};
  std::optional<IsolationRuns> runs{};
};

/// Returns the number of measurements. The experiment calls `going_on` after each measurement.
[[nodiscard]] std::size_t count_measurements(const IsolationStudy& study);
/// Runs the experiment. Returns bad_input if the platform does not have a workload, or has fewer cores than
/// co-runners. Returns cancelled if `going_on` returned false.
[[nodiscard]] Result<Isolation> run_isolation(IsolationPlatform& platform, const IsolationStudy& study,
                                              const std::function<bool()>& going_on);

[[nodiscard]] Spread spread_of(std::span<const Duration> lengths);
/// Returns a limit as text: "100MB/s", or "none".
[[nodiscard]] std::string name_of(BandwidthLimit limit);

} // namespace rtexec::study
