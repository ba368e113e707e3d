#include "rtexec/studies/experiments/memory_model_platform.hpp"

#include "rtexec/studies/experiments/joint_release.hpp"
#include "rtexec/studies/calibration/memory_traffic.hpp"
#include "rtexec/studies/calibration/size_range.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

namespace rtexec::study {
namespace {

using namespace std::chrono_literals;
using policies::MemoryCosts;
using policies::MemoryOverhead;

/// The paper of Bateni et al. (memory_model_platform.hpp) prints no costs. The paper states that the memory of Xavier
/// is 2.5 times as fast as the memory of the TX2, that the transfers of Xavier are also faster (section V-B), and that
/// mapping takes much less time than copying (section IV-A). Table IV of the paper has the chosen policies. The GPUs
/// have L2 caches of 512 KiB. All numbers are chosen so that the model reproduces Table IV; their order of magnitude is
/// realistic.
constexpr MemoryCosts tx2_costs{.unified = true,
                                .copy_start = 20us,
                                .copied_in = 0.2,
                                .copied_out = 0.2,
                                .host_touched = 0.3,
                                .mapped = 0.06,
                                .host_flush = 200us,
                                .device_flush = 52us,
                                .written_back = 0.1,
                                .memory_access = 3,
                                .cache_access = 1};
constexpr MemoryCosts xavier_costs{.unified = true,
                                   .copy_start = 10us,
                                   .copied_in = 0.025,
                                   .copied_out = 0.025,
                                   .host_touched = 0.12,
                                   .mapped = 0.02,
                                   .host_flush = 100us,
                                   .device_flush = 21us,
                                   .written_back = 0.04,
                                   .memory_access = 1.2,
                                   .cache_access = 0.4};
/// The noise is largest if both tasks of a pair are under policy M (managed memory), as in Fig. 5 of Bateni et al.
constexpr MemoryBoardModel models[] = {{.name = "tx2",
                                        .title = "a Jetson TX2",
                                        .costs = tx2_costs,
                                        .launch = 10us,
                                        .per_byte = 0.05,
                                        .operation = 0.003,
                                        .noise = 0.02,
                                        .managed_noise = 0.06,
                                        .beside_managed_noise = 0.2},
                                       {.name = "xavier",
                                        .title = "a Jetson AGX Xavier",
                                        .costs = xavier_costs,
                                        .launch = 6us,
                                        .per_byte = 0.02,
                                        .operation = 0.0015,
                                        .noise = 0.02,
                                        .managed_noise = 0.06,
                                        .beside_managed_noise = 0.2}};

/// Returns the number of operations of a workload whose kernels need more time for computing than for memory accesses.
/// Returns 0 for other workloads.
double operations_of(WorkloadKind kind, unsigned size) {
  constexpr double rounds = 16, of_distance = 8;
  const double n = size;
  if (kind == WorkloadKind::matrix_multiply) return 2 * n * n * n;
  if (kind == WorkloadKind::euclidean_clustering) return rounds * of_distance * n * n;
  return 0;
}

Duration rounded(double nanos) { return Duration(std::llround(nanos)); }

class ModelledMemory final : public MemoryPlatform {
 public:
  ModelledMemory(const MemoryBoardModel& model, std::uint64_t seed) : model_(model), random_(seed) {}

  std::string name() const override { return "model-" + std::string(model_.name); }
  MemoryCosts costs() const override { return {.unified = true, .cache_access = model_.costs.cache_access}; }
  policies::MemoryTraffic traffic(WorkloadKind kind, unsigned size) override { return traffic_of(kind, size); }
  Result<Duration> execution(WorkloadKind kind, unsigned size, const MemoryRounds&) override {
    return execution_of(kind, size, traffic_of(kind, size));
  }

  /// Runs the minimum number of rounds. In a simulation, more rounds would give no more information.
  Result<std::vector<std::vector<MemoryRound>>> run(std::span<const MemorySet> sets,
                                                    const MemoryRounds& rounds) override {
    std::vector<std::vector<MemoryRound>> ran(sets.size());
    for (unsigned i = 0; i < rounds.least; ++i)
      for (std::size_t set = 0; set < sets.size(); ++set) ran[set].push_back(one_round(sets[set]));
    return ran;
  }

 private:
  struct Job {
    Duration time{0};
    Duration kernels{0};
    Duration idle{0}; // the wait during which kernels of another task may execute
  };

  Duration execution_of(WorkloadKind kind, unsigned size, const policies::MemoryTraffic& traffic) const {
    double nanos = model_.operation * operations_of(kind, size);
    for (const auto& kernel : traffic.kernels)
      nanos += static_cast<double>(kernel.launches) * (static_cast<double>(model_.launch.count()) +
                                                       model_.per_byte * static_cast<double>(kernel.touched.count));
    return rounded(nanos);
  }

  double longer(bool is_managed, bool beside_managed) {
    const double part = static_cast<double>(random_() >> 11U) * 0x1p-53;
    return 1 + part * (!is_managed      ? model_.noise
                       : beside_managed ? model_.beside_managed_noise
                                        : model_.managed_noise);
  }

  std::vector<Job> jobs_of(std::span<const MemoryCase> set) {
    const auto managed = std::ranges::count(set, MemoryPolicy::managed, &MemoryCase::policy);
    std::vector<Job> jobs;
    for (const MemoryCase& each : set) {
      const auto traffic = traffic_of(each.kind, each.size);
      const Duration execution = execution_of(each.kind, each.size, traffic);
      const MemoryOverhead overhead = policies::memory_overhead(each.policy, model_.costs, traffic);
      const bool is_managed = each.policy == MemoryPolicy::managed;
      const double factor = longer(is_managed, managed > 1);
      jobs.push_back({.time = rounded(factor * static_cast<double>((execution + overhead.all()).count())),
                      .kernels = execution,
                      .idle = overhead.mapping});
    }
    return jobs;
  }

  /// Simulates a round. If two tasks start at once, kernels of the task under policy D (device memory) execute while
  /// the other task waits (Bateni et al., section IV-B).
  MemoryRound one_round(std::span<const MemoryCase> set) {
    const std::vector<Job> jobs = jobs_of(set);
    std::vector<Duration> times;
    for (const Job& job : jobs) times.push_back(job.time);
    return played(set, times, [&](std::size_t first, std::size_t second) {
      const bool device_first = set[first].policy == MemoryPolicy::device;
      return std::min(jobs[device_first ? first : second].kernels, jobs[device_first ? second : first].idle);
    });
  }

  const MemoryBoardModel& model_;
  std::mt19937_64 random_;
};

} // namespace

std::span<const MemoryBoardModel> memory_board_models() { return models; }

std::unique_ptr<MemoryPlatform> modelled_memory(const MemoryBoardModel& model, std::uint64_t seed) {
  return std::make_unique<ModelledMemory>(model, seed);
}

std::vector<MemoryWorkload> modelled_workloads() {
  using enum WorkloadKind;
  // The largest sizes are the sizes in Table IV of Bateni et al.: 512, 319 (there 320) and 1024
  constexpr SizeRange ranges[] = {{vector_add, 1U << 15U, 1U << 22U},
                                  {matrix_add, 181, 2048},
                                  {matrix_multiply, 64, 512},
                                  {needleman_wunsch, 320, 2560},
                                  {gaussian, 65, 513},
                                  {hotspot, 181, 2048},
                                  {pathfinder, 160, 20480},
                                  {bfs, 1U << 13U, 1U << 20U},
                                  {nearest_neighbour, 1U << 15U, 1U << 22U},
                                  {random_access, 1U << 15U, 1U << 22U},
                                  {euclidean_clustering, 512, 4096}};
  std::vector<MemoryWorkload> workloads;
  for (const auto& [kind, least, most] : ranges) workloads.push_back({kind, sizes_between(least, most)});
  return workloads;
}

} // namespace rtexec::study
