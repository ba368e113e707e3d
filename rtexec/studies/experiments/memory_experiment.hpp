// The experiments of Bateni et al. (Co-Optimizing Performance and Memory Footprint Via Integrated CPU/GPU Memory
// Management, RTAS 2020). Micro-benchmarks run under the memory policies D, M and H: alone, two together, and seven
// together under D, under M, and under the policies chosen for each. The experiments run on a platform: a model, or a
// machine.
//
// Plain values; not for real-time threads; one thread.
#pragma once

#include <rtexec/plan.hpp>
#include <rtexec/result.hpp>
#include <rtexec/choices.hpp>
#include <rtexec/units.hpp>
#include "policies/memory/memory_model.hpp"

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rtexec::study {

struct MemoryCase {
  WorkloadKind kind = WorkloadKind::vector_add;
  unsigned size = 1;
  MemoryPolicy policy = MemoryPolicy::device;
  /// The scheduler core's data for co-running with another task (policies/scheduler/co_run.hpp).
  std::optional<CoRun> co_run = {};
};
/// Tasks that are released together, the most urgent first.
using MemorySet = std::vector<MemoryCase>;

/// One job of each task of a set, all released at once. By task: the time of its device part, and the device part's end
/// since the release.
struct MemoryRound {
  std::vector<Duration> times, ends;
  std::size_t pairs = 0; // number of pairs that were started
  [[nodiscard]] Duration length() const;
};

/// The number of repetitions of a measurement: at least `least`, then more while all took less than `enough` in total,
/// but at most `most`.
struct MemoryRounds {
  unsigned least = 5, most = 41;
  Duration enough = std::chrono::milliseconds(60);
  [[nodiscard]] bool go_on(unsigned count, Duration spent) const {
    return count < least || (count < most && spent < enough);
  }
};

/// The platform of the experiment.
class MemoryPlant {
 public:
  virtual ~MemoryPlant() = default;
  /// Returns the name in every row of CSV: "cuda", "host", "model-tx2".
  [[nodiscard]] virtual std::string name() const = 0;
  /// Returns the initial costs of the estimates: whether memory is unified, and values that no measurement here can
  /// find.
  [[nodiscard]] virtual policies::MemoryCosts costs() const = 0;
  [[nodiscard]] virtual policies::MemoryTraffic traffic(WorkloadKind kind, unsigned size) = 0;
  /// Measures the kernels alone, with their data already in place.
  [[nodiscard]] virtual Result<Duration> execution(WorkloadKind kind, unsigned size, const MemoryRounds& rounds) = 0;
  /// Runs rounds of each set after a warm-up, equally many of each. The sets take turns, so that a disturbance of one
  /// disturbs the others. CPU parts run before and after each round, so that caches and pages are dirty as in a run.
  /// Returns out_of_memory or unsupported if the sets cannot run under these policies, or not all at once.
  [[nodiscard]] virtual Result<std::vector<std::vector<MemoryRound>>> run(std::span<const MemorySet> sets,
                                                                          const MemoryRounds& rounds) = 0;
};

struct MemoryWorkload {
  WorkloadKind kind = WorkloadKind::vector_add;
  std::vector<unsigned> sizes; // ascending; equally many for all workloads, at least 4
};
/// Returns eight sizes, each about the same factor above the previous one.
[[nodiscard]] std::vector<unsigned> sizes_between(unsigned least, unsigned most);

struct MemoryStudy {
  std::vector<MemoryWorkload> workloads;
  std::vector<MemoryPolicy> policies; // policies of the platform, D first
  MemoryRounds rounds = {};           // for a median
  unsigned spread = 10;               // rounds of two tasks together (Fig. 5)
  double max_memory = 0.6;            // share of the memory that all take under D, for the choice
};

/// An estimate, and its distance from the shortest measured time, in percent of that time.
struct MemoryEstimate {
  Duration time{0};
  double error = 0;
};

/// A workload of one size under one policy, alone (Figs. 2 and 8).
struct PolicyTime {
  MemoryPolicy policy = MemoryPolicy::device;
  Bytes memory;
  std::vector<Duration> times;
  Duration time{0};       // their median
  double utilisation = 0; // percent of time in which kernels use the device
  /// Estimates with costs of the platform, and with costs of this workload. Both are fitted to the shortest times of
  /// other sizes: a disturbance of a job is no cost of a policy.
  MemoryEstimate by_platform, by_workload;

  [[nodiscard]] Duration shortest() const;
};

struct MemoryPoint {
  unsigned size = 0;
  Duration execution{0}; // of the kernels alone
  policies::MemoryTraffic traffic;
  std::vector<PolicyTime> policies; // only those that could be measured

  [[nodiscard]] const PolicyTime* under(MemoryPolicy policy) const;
};

struct MemoryResult {
  WorkloadKind kind = WorkloadKind::vector_add;
  std::vector<MemoryPoint> points; // by size
};

/// Two instances of a workload together (Figs. 3 and 5, Tables I and II).
struct MemoryPair {
  WorkloadKind kind = WorkloadKind::vector_add;
  unsigned size = 0;
  std::array<MemoryPolicy, 2> policies{};
  Bytes memory;
  std::vector<Duration> lengths; // lengths of rounds
  Duration length{0};            // their median
  double utilisation = 0;        // percent
};

/// All tasks of a mix under certain policies (Fig. 9, Table V).
struct MemoryConfiguration {
  std::string name; // "D", "MO", "CO"
  std::vector<MemoryPolicy> policies;
  Bytes memory;
  std::vector<Duration> responses; // medians, by task
  Duration length{0};              // median length of a round
  std::size_t pairs = 0;           // number of pairs that the scheduler core started in a round
  double utilisation = 0;          // percent
  [[nodiscard]] Duration mean_response() const;
};

struct MemoryMix {
  std::vector<WorkloadKind> kinds; // in the order of their deadlines
  std::vector<unsigned> sizes;
  std::vector<MemoryConfiguration> configurations; // only those that could be measured
  bool within = true;                              // a choice within `max_memory` exists

  [[nodiscard]] const MemoryConfiguration* of(std::string_view name) const;
};

/// The results of both guidelines for a workload of the mix (Table IV), at the largest size.
struct MemoryGuideline {
  WorkloadKind kind = WorkloadKind::vector_add;
  std::uint64_t kernels = 0;
  MemoryPolicy policy = MemoryPolicy::device;    // D or M, as in the paper; D or H if there is no M
  MemoryPolicy with_host = MemoryPolicy::device; // D, M or H
};

struct MemoryExperiment {
  policies::MemoryCosts costs; // fitted to all measurements
  std::vector<MemoryResult> results;
  std::vector<MemoryGuideline> guidelines;
  std::vector<MemoryPair> pairs;
  std::vector<MemoryMix> mixes;   // by size
  std::vector<std::string> notes; // failed measurements, and why
};

/// Returns the tasks of the paper's mix. An experiment uses those that are workloads of its study.
[[nodiscard]] std::span<const WorkloadKind> mixed_workloads();
/// Returns the workloads of which two instances run together.
[[nodiscard]] std::span<const WorkloadKind> paired_workloads();
/// Returns the policy that is used as M. If the platform has no M, this is H, which takes as little memory.
[[nodiscard]] MemoryPolicy small_policy(const MemoryStudy& study);
/// Returns the size of all buffers of a workload.
[[nodiscard]] Bytes memory_of(const MemoryCase& wanted);

/// Returns the number of measurements; `going_on` is called after each.
[[nodiscard]] std::size_t count_measurements(const MemoryStudy& study);
/// Runs the experiment. Returns cancelled if `going_on` returned false. Other errors are the platform's.
[[nodiscard]] Result<MemoryExperiment> run_memory_experiment(MemoryPlant& plant, const MemoryStudy& study,
                                                             const std::function<bool()>& going_on);

// ---- its parts ----

/// One policy of a task, with the figures for the choice.
struct MemoryAlternative {
  MemoryPolicy policy = MemoryPolicy::device;
  Bytes memory;
  Duration time{0};
};
struct MemoryChoice {
  std::vector<std::size_t> alternatives; // by task
  bool co_run = false;
  friend bool operator==(const MemoryChoice&, const MemoryChoice&) = default;
};
/// Returns the combinations within `most` memory that are worth running, each once; only a run shows what pairs save.
/// Two are the shortest if the kernels of a task under D execute while the other one of a pair, under M or H, waits.
/// One is the shortest if they do so beside M only. Two are the shortest with one job at a time. Tasks are in the order
/// of urgency, and their kernels take `executions`. Empty if nothing fits.
[[nodiscard]] std::vector<MemoryChoice> promising_choices(std::span<const std::vector<MemoryAlternative>> tasks,
                                                          std::span<const Duration> executions, Bytes most);
/// Returns the scheduler core's data on a task that takes `time`. Under D this is the time of its kernels, which must
/// fit into the wait of the other one of a pair (section IV-B). Under M and H it is that wait: `time` without the
/// kernels.
[[nodiscard]] CoRun co_run_of(MemoryPolicy policy, Duration time, Duration execution);

/// Returns mean and worst error of one workload's points under `policy`, or under all policies if it is absent.
[[nodiscard]] policies::ModelError error_of(const MemoryResult& result, std::optional<MemoryPolicy> policy,
                                            MemoryEstimate PolicyTime::*estimate);

} // namespace rtexec::study
