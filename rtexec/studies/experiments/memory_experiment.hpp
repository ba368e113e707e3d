// The experiments of Bateni et al. (Co-Optimizing Performance and Memory Footprint Via Integrated CPU/GPU Memory
// Management, RTAS 2020), called "the paper" here. Micro-benchmarks run under the memory policies D (device memory,
// with copies), M (managed memory) and H (host memory). They run alone and two together. Seven run together under D,
// under M, and under policies chosen for each. The experiments run on a platform: a model, or a machine.
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
  /// The scheduler core's data to co-run the task with another one (policies/scheduler/co_run.hpp). Absent: it runs
  /// alone
  std::optional<CoRun> co_run = {};
};
/// Tasks that are released together, the most urgent first.
using MemorySet = std::vector<MemoryCase>;

/// The times of one round: one job of each task of a set, all released at once. For each task it has the time of its
/// device part, and the time from the release to the end of the device part.
struct MemoryRound {
  std::vector<Duration> times, ends;
  std::size_t pairs = 0; // number of times that two tasks started at once
  [[nodiscard]] Duration length() const;
};

/// Limits of the repetitions of a measurement. There are at least `least` and at most `most`. Between these,
/// repetitions continue until they have taken `enough` time together.
struct MemoryRounds {
  unsigned least = 5, most = 41;
  Duration enough = std::chrono::milliseconds(60);
  [[nodiscard]] bool go_on(unsigned count, Duration spent) const {
    return count < least || (count < most && spent < enough);
  }
};

/// The platform of the experiment.
class MemoryPlatform {
 public:
  virtual ~MemoryPlatform() = default;
  /// Returns the platform's name for the rows of CSV files: "cuda", "host", "model-tx2".
  [[nodiscard]] virtual std::string name() const = 0;
  /// Returns the costs with which fits begin. They say if memory is unified, and have values that no measurement of
  /// this experiment can find.
  [[nodiscard]] virtual policies::MemoryCosts costs() const = 0;
  [[nodiscard]] virtual policies::MemoryTraffic traffic(WorkloadKind kind, unsigned size) = 0;
  /// Measures the kernels of a workload alone, while their data is already on the device.
  [[nodiscard]] virtual Result<Duration> execution(WorkloadKind kind, unsigned size, const MemoryRounds& rounds) = 0;
  /// Runs rounds of each set after a warm-up, the same number for each. The sets alternate, so that a disturbance
  /// affects all of them. CPU parts run before and after each round, so that caches and pages are dirty as in a run.
  /// Returns out_of_memory or unsupported if the sets cannot run under these policies, or not all at once.
  [[nodiscard]] virtual Result<std::vector<std::vector<MemoryRound>>> run(std::span<const MemorySet> sets,
                                                                          const MemoryRounds& rounds) = 0;
};

struct MemoryWorkload {
  WorkloadKind kind = WorkloadKind::vector_add;
  std::vector<unsigned> sizes; // ascending; the same number for all workloads, at least 4
};
/// Returns eight sizes from `least` to `most`. Each is larger than the previous one by about the same factor.
[[nodiscard]] std::vector<unsigned> sizes_between(unsigned least, unsigned most);

struct MemoryStudy {
  std::vector<MemoryWorkload> workloads;
  std::vector<MemoryPolicy> policies; // policies of the platform; D is the first
  MemoryRounds rounds = {};           // number of rounds for a median
  unsigned spread = 10;               // number of rounds of two tasks together (the paper's Fig. 5)
  double max_memory = 0.6;            // limit of a chosen mix, as a share of its memory under D
};

/// An estimated time, and its difference from the shortest measured time, in percent of the measured time.
struct MemoryEstimate {
  Duration time{0};
  double error = 0;
};

/// The times of one size of a workload that runs alone under one policy (the paper's Figs. 2 and 8).
struct PolicyTime {
  MemoryPolicy policy = MemoryPolicy::device;
  Bytes memory;
  std::vector<Duration> times;
  Duration time{0};       // median of the times
  double utilisation = 0; // percent of the time in which kernels use the device
  /// Estimates with costs of the whole platform, and with costs of this workload only. The costs are fitted to the
  /// shortest times of other sizes, because longer times include disturbances, which are no cost of a policy.
  MemoryEstimate by_platform, by_workload;

  [[nodiscard]] Duration shortest() const;
};

struct MemoryPoint {
  unsigned size = 0;
  Duration execution{0}; // time of the kernels alone
  policies::MemoryTraffic traffic;
  std::vector<PolicyTime> policies; // only policies that could be measured

  [[nodiscard]] const PolicyTime* under(MemoryPolicy policy) const;
};

struct MemoryResult {
  WorkloadKind kind = WorkloadKind::vector_add;
  std::vector<MemoryPoint> points; // by size
};

/// Two instances of a workload that run together (the paper's Figs. 3 and 5, Tables I and II).
struct MemoryPair {
  WorkloadKind kind = WorkloadKind::vector_add;
  unsigned size = 0;
  std::array<MemoryPolicy, 2> policies{};
  Bytes memory;
  std::vector<Duration> lengths; // lengths of rounds
  Duration length{0};            // their median
  double utilisation = 0;        // percent
};

/// All tasks of a mix under certain policies (the paper's Fig. 9 and Table V).
struct MemoryConfiguration {
  std::string name; // "D", "MO" (all under M) or "CO" (chosen)
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
  bool within = true;                              // true if some choice keeps `max_memory`

  [[nodiscard]] const MemoryConfiguration* of(std::string_view name) const;
};

/// The policies that both guidelines choose for a workload of the mix, at the largest size (the paper's Table IV).
struct MemoryGuideline {
  WorkloadKind kind = WorkloadKind::vector_add;
  std::uint64_t kernels = 0;
  MemoryPolicy policy = MemoryPolicy::device;    // D or M as in the paper; D or H without M
  MemoryPolicy with_host = MemoryPolicy::device; // D, M or H
};

struct MemoryExperiment {
  policies::MemoryCosts costs; // costs fitted to all measurements
  std::vector<MemoryResult> results;
  std::vector<MemoryGuideline> guidelines;
  std::vector<MemoryPair> pairs;
  std::vector<MemoryMix> mixes;   // by size
  std::vector<std::string> notes; // failed measurements with the reasons
};

/// Returns the tasks of the paper's mix. An experiment uses those that its study contains.
[[nodiscard]] std::span<const WorkloadKind> mixed_workloads();
/// Returns the workloads that are also measured with two instances running together.
[[nodiscard]] std::span<const WorkloadKind> paired_workloads();
/// Returns the policy that stands for M. It is H on a platform without M, because H takes as little memory as M.
[[nodiscard]] MemoryPolicy small_policy(const MemoryStudy& study);
/// Returns the total size of all buffers of a workload.
[[nodiscard]] Bytes memory_of(const MemoryCase& wanted);

/// Returns the number of measurements. The experiment calls `going_on` after each.
[[nodiscard]] std::size_t count_measurements(const MemoryStudy& study);
/// Runs the experiment. Returns cancelled if `going_on` returned false. Also returns errors of the platform.
[[nodiscard]] Result<MemoryExperiment> run_memory_experiment(MemoryPlatform& platform, const MemoryStudy& study,
                                                             const std::function<bool()>& going_on);

// ---- its parts ----

/// A policy that a task may use, with its memory and time.
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
/// Returns the combinations of policies within `most` memory that are worth running, each once. Returns none if no
/// combination fits. It considers three models of the time that a pair saves when it co-runs, because only a run
/// shows this time. Two combinations are the shortest if kernels of a task under D execute while the other task,
/// under M or H, waits. One is the shortest if they do so only while a task under M waits. Two are the shortest
/// without co-running. `tasks` are in the order of urgency, and `executions` are the times of their kernels.
[[nodiscard]] std::vector<MemoryChoice> promising_choices(std::span<const std::vector<MemoryAlternative>> tasks,
                                                          std::span<const Duration> executions, Bytes most);
/// Returns the scheduler core's data to co-run a task whose job takes `time`. A task under D contributes the time of
/// its kernels, `execution`, which must fit into the wait of the other task (the paper's section IV-B). A task under
/// M or H contributes its wait: `time` without the kernels.
[[nodiscard]] CoRun co_run_of(MemoryPolicy policy, Duration time, Duration execution);

/// Returns the mean and the largest error of the estimates for one workload under `policy`. If `policy` is absent,
/// considers all policies.
[[nodiscard]] policies::ModelError error_of(const MemoryResult& result, std::optional<MemoryPolicy> policy,
                                            MemoryEstimate PolicyTime::*estimate);

} // namespace rtexec::study
