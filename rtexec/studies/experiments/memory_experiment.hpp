// The experiments of Bateni et al. (Co-Optimizing Performance and Memory Footprint Via Integrated CPU/GPU Memory
// Management, RTAS 2020), called "the paper" here. Micro-benchmarks run under the memory policies D (device memory,
// with copies), M (managed memory) and H (host memory). The benchmarks run alone, and in pairs. In addition, seven
// benchmarks run together under D, under M, and under policies chosen for each benchmark. The experiments run on a
// platform: a model, or a machine.
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
  /// The parameters with which the device scheduler co-runs the task (policies/scheduler/co_run.hpp). Absent: the task
  /// runs alone
  std::optional<CoRun> co_run = {};
};
/// Tasks that are released together, the most urgent first.
using MemorySet = std::vector<MemoryCase>;

/// The times of one round: one job of each task of a set, all released at once. `times`: by task, the time of its
/// device part. `ends`: by task, the time from the release to the end of the device part.
struct MemoryRound {
  std::vector<Duration> times, ends;
  std::size_t pairs = 0; // the number of times that two tasks started at once
  [[nodiscard]] Duration length() const;
};

/// Limits on the repetitions of a measurement. There are at least `least` and at most `most` repetitions. Between these
/// limits, repetitions end when they have taken `enough` time together.
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
  /// Returns the costs with which fits begin. The costs state whether memory is unified. The costs also have the values
  /// that no measurement of this experiment can determine.
  [[nodiscard]] virtual policies::MemoryCosts costs() const = 0;
  [[nodiscard]] virtual policies::MemoryTraffic traffic(WorkloadKind kind, unsigned size) = 0;
  /// Measures the kernels of a workload alone, with data that is already on the device.
  [[nodiscard]] virtual Result<Duration> execution(WorkloadKind kind, unsigned size, const MemoryRounds& rounds) = 0;
  /// Runs rounds of each set after a warm-up, the same number of rounds for each set. The sets alternate, so that a
  /// disturbance affects all sets. CPU parts run before and after each round, so that the host's caches hold modified
  /// lines and pages are on the host, as in a run of the executive. Returns out_of_memory or unsupported if a set
  /// cannot run under its policies, or if the sets do not fit into memory at once.
  [[nodiscard]] virtual Result<std::vector<std::vector<MemoryRound>>> run(std::span<const MemorySet> sets,
                                                                          const MemoryRounds& rounds) = 0;
};

struct MemoryWorkload {
  WorkloadKind kind = WorkloadKind::vector_add;
  std::vector<unsigned> sizes; // in ascending order; all workloads have the same number of sizes, at least 4
};
/// Returns eight sizes from `least` to `most`. The ratio between neighbouring sizes is about constant.
[[nodiscard]] std::vector<unsigned> sizes_between(unsigned least, unsigned most);

struct MemoryStudy {
  std::vector<MemoryWorkload> workloads;
  std::vector<MemoryPolicy> policies; // the memory policies of the platform; policy D is the first
  MemoryRounds rounds = {};           // the number of rounds for a median
  unsigned spread = 10;               // the number of rounds of two tasks together (Bateni et al., Fig. 5)
  double max_memory =
      0.6; // the limit on the memory of a chosen mix, as a share of its memory if all tasks are under policy D
};

/// An estimated time, and its difference from the shortest measured time, in percent of that measured time.
struct MemoryEstimate {
  Duration time{0};
  double error = 0;
};

/// The times of a workload of one size that runs alone under one memory policy (Figs. 2 and 8 of the paper by Bateni et
/// al.).
struct PolicyTime {
  MemoryPolicy policy = MemoryPolicy::device;
  Bytes memory;
  std::vector<Duration> times;
  Duration time{0};       // the median of the times
  double utilisation = 0; // percent of the time in which kernels use the device
  /// Estimates with costs that are fitted to the whole platform, and with costs that are fitted to this workload only.
  /// The costs are fitted to the shortest times of other sizes. Longer times include disturbances, which are not a cost
  /// of a policy.
  MemoryEstimate by_platform, by_workload;

  [[nodiscard]] Duration shortest() const;
};

struct MemoryPoint {
  unsigned size = 0;
  Duration execution{0}; // the time of the kernels alone
  policies::MemoryTraffic traffic;
  std::vector<PolicyTime> policies; // only the policies that could be measured

  [[nodiscard]] const PolicyTime* under(MemoryPolicy policy) const;
};

struct MemoryResult {
  WorkloadKind kind = WorkloadKind::vector_add;
  std::vector<MemoryPoint> points; // by size
};

/// Two instances of a workload that run together (Bateni et al., Figs. 3 and 5, Tables I and II).
struct MemoryPair {
  WorkloadKind kind = WorkloadKind::vector_add;
  unsigned size = 0;
  std::array<MemoryPolicy, 2> policies{};
  Bytes memory;
  std::vector<Duration> lengths; // the lengths of all rounds
  Duration length{0};            // the median length of a round
  double utilisation = 0;        // percent
};

/// All tasks of a mix under certain policies (Bateni et al., Fig. 9 and Table V).
struct MemoryConfiguration {
  std::string name; // "D" (all tasks under policy D), "MO" (all under policy M) or "CO" (chosen policies)
  std::vector<MemoryPolicy> policies;
  Bytes memory;
  std::vector<Duration> responses; // by task: the median response
  Duration length{0};              // the median length of a round
  std::size_t pairs = 0;           // the number of pairs that the device scheduler started in a round
  double utilisation = 0;          // percent
  [[nodiscard]] Duration mean_response() const;
};

struct MemoryMix {
  std::vector<WorkloadKind> kinds; // in the order of their deadlines
  std::vector<unsigned> sizes;
  std::vector<MemoryConfiguration> configurations; // only the configurations that could be measured
  bool within = true;                              // true if some choice of policies keeps `max_memory`

  [[nodiscard]] const MemoryConfiguration* of(std::string_view name) const;
};

/// The policies that both guidelines choose for a workload of the mix at the largest size (Bateni et al., Table IV).
struct MemoryGuideline {
  WorkloadKind kind = WorkloadKind::vector_add;
  std::uint64_t kernels = 0;
  MemoryPolicy policy = MemoryPolicy::device;    // D or M; D or H on a platform without M
  MemoryPolicy with_host = MemoryPolicy::device; // D, M or H
};

struct MemoryExperiment {
  policies::MemoryCosts costs; // costs fitted to all measurements
  std::vector<MemoryResult> results;
  std::vector<MemoryGuideline> guidelines;
  std::vector<MemoryPair> pairs;
  std::vector<MemoryMix> mixes;   // by size
  std::vector<std::string> notes; // failed measurements, with the reasons
};

/// Returns the tasks of the mix of Bateni et al. An experiment uses only the tasks that its study contains.
[[nodiscard]] std::span<const WorkloadKind> mixed_workloads();
/// Returns the workloads of which two instances are also measured together.
[[nodiscard]] std::span<const WorkloadKind> paired_workloads();
/// Returns M, or H on a platform without M, because H takes as little memory as M.
[[nodiscard]] MemoryPolicy small_policy(const MemoryStudy& study);
/// Returns the total size of all buffers of a workload.
[[nodiscard]] Bytes memory_of(const MemoryCase& wanted);

/// Returns the number of measurements. The experiment calls `going_on` after each measurement.
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
/// Returns the combinations of policies within `most` memory that are worth running, each once. Returns an empty list
/// if no combination fits. Only a run shows the time that a pair saves when it co-runs. So the function predicts the
/// time in which all tasks execute once, by three models. For each model it returns the combinations with the shortest
/// predicted times:
/// - Kernels of a task under policy D execute while the other task, under policy M or H, waits: two combinations.
/// - Kernels of a task under policy D execute only while a task under policy M waits: one combination.
/// - Tasks do not co-run: two combinations.
/// `tasks` must be in the order of urgency. `executions`: the times of the tasks' kernels.
[[nodiscard]] std::vector<MemoryChoice> promising_choices(std::span<const std::vector<MemoryAlternative>> tasks,
                                                          std::span<const Duration> executions, Bytes most);
/// Returns the parameters with which the device scheduler co-runs a task whose job takes `time`. For a task under
/// policy D, the parameters contain the time of the task's kernels, `execution`, which must fit into the wait of the
/// other task (Bateni et al., section IV-B). For a task under policy M or H, the parameters contain the time that the
/// task waits: `time` without the kernels.
[[nodiscard]] CoRun co_run_of(MemoryPolicy policy, Duration time, Duration execution);

/// Returns the mean and the largest error of the estimates for one workload under `policy`. If `policy` is absent, the
/// result covers all policies.
[[nodiscard]] policies::ModelError error_of(const MemoryResult& result, std::optional<MemoryPolicy> policy,
                                            MemoryEstimate PolicyTime::*estimate);

} // namespace rtexec::study
