// The experiments of Bateni et al. (Co-Optimizing Performance and Memory Footprint Via Integrated CPU/GPU Memory
// Management, RTAS 2020): micro-benchmarks under the memory policies D, M and H, alone, two together, and seven
// together under D, under M, and under what is chosen for each. Where it runs is a plant: a model, or a machine.
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
  /// What the scheduler core knows of it where it may execute beside another one (policies/scheduler/co_run.hpp).
  std::optional<CoRun> co_run = {};
};
/// Tasks that are released together, the most urgent first.
using MemorySet = std::vector<MemoryCase>;

/// One job of each task of a set, all released at once: by task, how long its device part took, and when it had ended
/// since the release.
struct MemoryRound {
  std::vector<Duration> times, ends;
  std::size_t pairs = 0; // that were started
  [[nodiscard]] Duration length() const;
};

/// How often something is measured: `least` times, and on while it took less than `enough` in all, `most` times at
/// most.
struct MemoryRounds {
  unsigned least = 5, most = 41;
  Duration enough = std::chrono::milliseconds(60);
  [[nodiscard]] bool go_on(unsigned count, Duration spent) const {
    return count < least || (count < most && spent < enough);
  }
};

/// What the experiment runs on.
class MemoryPlant {
 public:
  virtual ~MemoryPlant() = default;
  /// In every row of CSV: "cuda", "host", "model-tx2".
  [[nodiscard]] virtual std::string name() const = 0;
  /// What the estimates begin with: whether there is one memory, and what no measurement here can tell.
  [[nodiscard]] virtual policies::MemoryCosts costs() const = 0;
  [[nodiscard]] virtual policies::MemoryTraffic traffic(WorkloadKind kind, unsigned size) = 0;
  /// Kernels alone, with data where they compute.
  [[nodiscard]] virtual Result<Duration> execution(WorkloadKind kind, unsigned size, const MemoryRounds& rounds) = 0;
  /// Rounds of each set after a warm-up, the sets in turn, so that what disturbs one disturbs the others; as many of
  /// each. CPU parts are done before and after each round, so that caches and pages are dirty as in a run.
  /// out_of_memory, unsupported: not under these policies, or not all at once.
  [[nodiscard]] virtual Result<std::vector<std::vector<MemoryRound>>> run(std::span<const MemorySet> sets,
                                                                          const MemoryRounds& rounds) = 0;
};

struct MemoryWorkload {
  WorkloadKind kind = WorkloadKind::vector_add;
  std::vector<unsigned> sizes; // ascending; of all workloads equally many, 4 or more
};
/// Eight sizes, each about the same factor above the one before.
[[nodiscard]] std::vector<unsigned> sizes_between(unsigned least, unsigned most);

struct MemoryStudy {
  std::vector<MemoryWorkload> workloads;
  std::vector<MemoryPolicy> policies; // of the plant, D first
  MemoryRounds rounds = {};           // of a median
  unsigned spread = 10;               // rounds of two tasks together (Fig. 5)
  double max_memory = 0.6;            // of what all take under D, for the choice
};

/// An estimate, and how far it is from the shortest time that was measured, in percent of that.
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
  double utilisation = 0; // of the device, by kernels: percent
  /// By costs of the platform, and by costs of this workload: both fitted to the shortest times of sizes of which this
  /// is none. What disturbs a job is no cost of a policy.
  MemoryEstimate by_platform, by_workload;

  [[nodiscard]] Duration shortest() const;
};

struct MemoryPoint {
  unsigned size = 0;
  Duration execution{0}; // kernels alone
  policies::MemoryTraffic traffic;
  std::vector<PolicyTime> policies; // those that can be had

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
  std::vector<Duration> lengths; // of rounds
  Duration length{0};            // their median
  double utilisation = 0;        // percent
};

/// All of a mix under certain policies (Fig. 9, Table V).
struct MemoryConfiguration {
  std::string name; // "D", "MO", "CO"
  std::vector<MemoryPolicy> policies;
  Bytes memory;
  std::vector<Duration> responses; // medians, by task
  Duration length{0};              // of a round, median
  std::size_t pairs = 0;           // that the scheduler core started in a round
  double utilisation = 0;          // percent
  [[nodiscard]] Duration mean_response() const;
};

struct MemoryMix {
  std::vector<WorkloadKind> kinds; // in the order of their deadlines
  std::vector<unsigned> sizes;
  std::vector<MemoryConfiguration> configurations; // those that can be had
  bool within = true;                              // a choice within `max_memory` exists

  [[nodiscard]] const MemoryConfiguration* of(std::string_view name) const;
};

/// What both guidelines say of a workload of the mix (Table IV), at the largest size.
struct MemoryGuideline {
  WorkloadKind kind = WorkloadKind::vector_add;
  std::uint64_t kernels = 0;
  MemoryPolicy policy = MemoryPolicy::device;    // D or M, as the paper has it; D or H where there is no M
  MemoryPolicy with_host = MemoryPolicy::device; // of all three
};

struct MemoryExperiment {
  policies::MemoryCosts costs; // fitted to all that was measured
  std::vector<MemoryResult> results;
  std::vector<MemoryGuideline> guidelines;
  std::vector<MemoryPair> pairs;
  std::vector<MemoryMix> mixes;   // by size
  std::vector<std::string> notes; // what could not be had, and why
};

/// Of tasks of the mix in the paper, of which workloads of a study are taken.
[[nodiscard]] std::span<const WorkloadKind> mixed_workloads();
/// Of which two instances run together.
[[nodiscard]] std::span<const WorkloadKind> paired_workloads();
/// What M stands for: where the plant has no M, H, which takes as little memory.
[[nodiscard]] MemoryPolicy small_policy(const MemoryStudy& study);
/// All buffers of a workload.
[[nodiscard]] Bytes memory_of(const MemoryCase& wanted);

/// How many measurements that is: a call of `going_on` after each.
[[nodiscard]] std::size_t count_measurements(const MemoryStudy& study);
/// cancelled: `going_on` returned false. Other errors are the plant's.
[[nodiscard]] Result<MemoryExperiment> run_memory_experiment(MemoryPlant& plant, const MemoryStudy& study,
                                                             const std::function<bool()>& going_on);

// ---- its parts ----

/// One of a task's policies, as the choice sees it.
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
/// Of all combinations within `most` memory those worth running, each once: what pairs save is known only then. The two
/// that are the shortest if the kernels of a task under D execute while the other one of a pair, under M or H, waits;
/// the shortest if they do so only beside M; and the two that are the shortest one job at a time. Tasks are in the
/// order of urgency, and take `executions` of kernels. Empty: nothing fits.
[[nodiscard]] std::vector<MemoryChoice> promising_choices(std::span<const std::vector<MemoryAlternative>> tasks,
                                                          std::span<const Duration> executions, Bytes most);
/// What the scheduler core gets to know of a task that takes `time`: of D the kernels, which are to fit into what the
/// other one of a pair waits (section IV-B); of M and H how long that is, all but the kernels.
[[nodiscard]] CoRun co_run_of(MemoryPolicy policy, Duration time, Duration execution);

/// Mean and worst of the errors of one workload's points under one policy, or under all where none is given.
[[nodiscard]] policies::ModelError error_of(const MemoryResult& result, std::optional<MemoryPolicy> policy,
                                            MemoryEstimate PolicyTime::*estimate);

} // namespace rtexec::study
