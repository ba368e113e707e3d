// The experiment of Nigam's thesis (chapters 5 and 7). It measures the speed of a DNN job on the device beside 0..n
// programs that sweep memory, and the job's longest executions. It does so for several limits of the other cores'
// bandwidth. The experiment runs on a platform: the model here, or a machine.
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

/// One measurement.
struct IsolationCase {
  std::string workload;
  unsigned corunners = 0; // number of co-runners, on cores 1, 2, ...
  BandwidthLimit limit;
};

struct IsolationMeasure {
  double performance = 0;     // in the workload's unit; more is better
  Bandwidth corunners{0};     // bandwidth of all co-runners together
  Bandwidth device{0};        // bandwidth of the device while it worked; 0: not known
  Duration mean{0}, worst{0}; // length of a job: of its execution on a machine, of the whole job in the model
};

struct IsolationWorkload {
  std::string name, title, unit;
};

/// The platform of the experiment. One thread uses it, which is not real-time. Errors of a measurement end the
/// experiment.
class IsolationPlant {
 public:
  virtual ~IsolationPlant() = default;
  [[nodiscard]] virtual std::string name() const = 0;        // name of the mode: "thesis", "rtexec"
  [[nodiscard]] virtual std::string description() const = 0; // one line: the platform, and the cores that it limits
  [[nodiscard]] virtual unsigned max_corunners() const = 0;
  [[nodiscard]] virtual std::vector<IsolationWorkload> workloads() const = 0;
  [[nodiscard]] virtual Result<IsolationMeasure> measure(const IsolationCase& wanted) = 0;
  /// Returns the bandwidth of 1..n sweeps together, with nothing else running and without a limit (Fig. 17).
  [[nodiscard]] virtual Result<Bandwidth> sweep(unsigned corunners) = 0;
  /// Returns the times of `count` executions of the Winograd kernel, one after the other, without co-runners (Fig. 30).
  [[nodiscard]] virtual Result<std::vector<Duration>> executions(std::size_t count, BandwidthLimit limit) = 0;
};

// ---- the model ----

struct ModelledWorkload {
  IsolationWorkload facts;
  simulator::Frame frame;
  double alone = 0; // performance without other load and without limits
};

/// A mode of limiting cores.
struct ModelledMode {
  std::string_view name, description;
  bool feeder = false;
  Duration reaction{0};
  Overshoot overshoot = Overshoot::forgive;
};

/// Every constant of the model, each with its source in isolation.cpp.
struct IsolationModel {
  simulator::SharedMemory memory;
  std::vector<ModelledWorkload> workloads;
  std::vector<ModelledMode> modes;
  Duration period{0}; // period of regulation
  Bytes line{0};
  simulator::Frame kernel; // for the runs of Fig. 30
  simulator::Noise noise;
  Duration length{0};     // minimum length of one measurement
  std::size_t frames = 0; // minimum number of frames of one measurement
};

/// Returns a model of a Jetson TX2 as the thesis measured it.
[[nodiscard]] const IsolationModel& tx2_model();
/// `mode` must be one of the model's. `model` and its modes must outlive the platform.
[[nodiscard]] std::unique_ptr<IsolationPlant> modelled_plant(const IsolationModel& model, const ModelledMode& mode,
                                                             std::uint64_t seed);

// ---- the experiment ----

struct IsolationStudy {
  std::vector<std::string> workloads; // workloads of the platform
  std::vector<Bandwidth> limits{};    // ascending; the case without a limit is measured as well
  unsigned corunners = 0;             // measured for 0..corunners
  std::size_t runs = 0;               // number of executions with and without the limit; 0: none
  Bandwidth runs_limit{0};
};

/// One limit of one workload, for 0..n co-runners.
struct IsolationRow {
  BandwidthLimit limit;
  std::vector<IsolationMeasure> measures{}; // by number of co-runners
  std::vector<double> speedup{};            // percent, relative to the same co-runners without a limit
  double mean = 0, variance = 0;            // of performance over co-runners (Figs. 27 and 29)
};

struct IsolationResult {
  IsolationWorkload workload;
  std::vector<IsolationRow> rows{}; // by limit, ascending; the row without a limit comes last
  std::size_t best = 0;             // index of the row with the greatest mean
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
  std::vector<Bandwidth> sweeps{}; // by number of co-runners, from 1 on
  std::vector<IsolationResult> results{};
  std::optional<IsolationRuns> runs{};
};

/// Returns the number of measurements; `going_on` is called after each.
[[nodiscard]] std::size_t count_measurements(const IsolationStudy& study);
/// Runs the experiment. Returns bad_input if the platform does not have a workload, or not so many co-runners. Returns
/// cancelled if `going_on` returned false.
[[nodiscard]] Result<Isolation> run_isolation(IsolationPlant& plant, const IsolationStudy& study,
                                              const std::function<bool()>& going_on);

[[nodiscard]] Spread spread_of(std::span<const Duration> lengths);
/// Returns "100MB/s", or "none".
[[nodiscard]] std::string name_of(BandwidthLimit limit);

} // namespace rtexec::study
