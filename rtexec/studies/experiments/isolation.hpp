// The experiment of Nigam's thesis (chapters 5 and 7): how fast a DNN job on the device is beside 0..n programs that
// sweep memory, for several limits of the other cores' bandwidth; and how long its executions are at worst. Where it
// runs is a plant: the model here, or a machine.
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

using BandwidthLimit = std::optional<Bandwidth>; // absent: none is in force

/// One measurement.
struct IsolationCase {
  std::string workload;
  unsigned corunners = 0; // on cores 1, 2, ...
  BandwidthLimit limit;
};

struct IsolationMeasure {
  double performance = 0;     // in the workload's unit: more is better
  Bandwidth corunners{0};     // what they moved together
  Bandwidth device{0};        // while it worked; 0: not known
  Duration mean{0}, worst{0}; // of a job: its execution on a machine, all of it in the model
};

struct IsolationWorkload {
  std::string name, title, unit;
};

/// What the experiment runs on. Not for real-time threads; one thread. Errors of a measurement end the experiment.
class IsolationPlant {
 public:
  virtual ~IsolationPlant() = default;
  [[nodiscard]] virtual std::string name() const = 0;        // of the mode: "thesis", "rtexec"
  [[nodiscard]] virtual std::string description() const = 0; // what it is, and whom it limits, in one line
  [[nodiscard]] virtual unsigned max_corunners() const = 0;
  [[nodiscard]] virtual std::vector<IsolationWorkload> workloads() const = 0;
  [[nodiscard]] virtual Result<IsolationMeasure> measure(const IsolationCase& wanted) = 0;
  /// What 1..n sweeps move together, nothing else running and without a limit (Fig. 17).
  [[nodiscard]] virtual Result<Bandwidth> sweep(unsigned corunners) = 0;
  /// How long `count` executions of the Winograd kernel took, one after the other, without co-runners (Fig. 30).
  [[nodiscard]] virtual Result<std::vector<Duration>> executions(std::size_t count, BandwidthLimit limit) = 0;
};

// ---- the model ----

struct ModelledWorkload {
  IsolationWorkload facts;
  simulator::Frame frame;
  double alone = 0; // performance when nothing else runs and nothing is limited
};

/// Who is limited, by what means.
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
  Duration period{0}; // of regulation
  Bytes line{0};
  simulator::Frame kernel; // of the runs of Fig. 30
  simulator::Noise noise;
  Duration length{0};     // of one measurement, at least
  std::size_t frames = 0; // likewise
};

/// A Jetson TX2 as the thesis measured it.
[[nodiscard]] const IsolationModel& tx2_model();
/// `mode`: one of the model's. `model` and its modes outlive the plant.
[[nodiscard]] std::unique_ptr<IsolationPlant> modelled_plant(const IsolationModel& model, const ModelledMode& mode,
                                                             std::uint64_t seed);

// ---- the experiment ----

struct IsolationStudy {
  std::vector<std::string> workloads; // of the plant
  std::vector<Bandwidth> limits{};    // ascending; no limit is measured as well
  unsigned corunners = 0;             // 0..corunners
  std::size_t runs = 0;               // executions with and without the limit; 0: none
  Bandwidth runs_limit{0};
};

/// One limit of one workload, over 0..n co-runners.
struct IsolationRow {
  BandwidthLimit limit;
  std::vector<IsolationMeasure> measures{}; // by co-runners
  std::vector<double> speedup{};            // percent, against no limit with as many co-runners
  double mean = 0, variance = 0;            // of performance over co-runners (Figs. 27 and 29)
};

struct IsolationResult {
  IsolationWorkload workload;
  std::vector<IsolationRow> rows{}; // by limit, ascending; none last
  std::size_t best = 0;             // the row whose mean is greatest
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
  std::vector<Bandwidth> sweeps{}; // by co-runners, from 1 on
  std::vector<IsolationResult> results{};
  std::optional<IsolationRuns> runs{};
};

/// How many measurements that is: a call of `going_on` after each.
[[nodiscard]] std::size_t count_measurements(const IsolationStudy& study);
/// bad_input: a workload, or more co-runners, that the plant does not have. cancelled: `going_on` returned false.
[[nodiscard]] Result<Isolation> run_isolation(IsolationPlant& plant, const IsolationStudy& study,
                                              const std::function<bool()>& going_on);

[[nodiscard]] Spread spread_of(std::span<const Duration> lengths);
/// "100MB/s", "none".
[[nodiscard]] std::string name_of(BandwidthLimit limit);

} // namespace rtexec::study
