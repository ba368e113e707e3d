#include "rtexec/studies/experiments/memory_machine.hpp"

#include "config/base/median.hpp"
#include "config/base/must.hpp"
#include "hal/core_claim.hpp"
#include "hal/cuda/cuda_device.hpp"
#include "rtexec/runtime/measuring/resident_time.hpp"
#include "rtexec/studies/experiments/joint_release.hpp"
#include "rtexec/studies/calibration/measured_device.hpp"
#include "rtexec/studies/calibration/memory_traffic.hpp"
#include "rtexec/studies/calibration/size_range.hpp"
#include "tasks/loads/benchmarks/kernel_workload.hpp"

#include <algorithm>
#include <functional>
#include <mutex>
#include <utility>

namespace rtexec::study {
namespace {

using tasks::KernelWorkload;

using Workloads = std::span<const std::unique_ptr<KernelWorkload>>;

/// Runs one job of each task on both compute engines, in the order of the device scheduler. When a job ends, the
/// engine's thread reports the end and submits the jobs that start next.
class JointRun {
 public:
  JointRun(hal::Device& device, std::span<const MemoryCase> set, Workloads workloads) : device_(device), release_(set) {
    round_.times.resize(set.size());
    round_.ends.resize(set.size());
    for (const auto& workload : workloads)
      jobs_.push_back({.run = this, .task = jobs_.size(), .workload = workload.get()});
  }

  /// Runs a round, and returns its times when all jobs have ended.
  MemoryRound operator()() {
    {
      const std::scoped_lock lock(mutex_);
      released_ = hal::now();
      start(release_.release());
    }
    while (ended_.value() == 0) ended_.wait(0);
    return std::move(round_);
  }
  /// Returns the error of the first failed job, or success.
  [[nodiscard]] Status outcome() const { return outcome_; }

 private:
  struct Job {
    JointRun* run = nullptr;
    std::size_t task = 0;
    KernelWorkload* workload = nullptr;
    hal::Concurrency concurrency = hal::Concurrency::alone;

    Status execute() noexcept {
      run->device_.begin_execution(concurrency);
      return workload->execute();
    }
  };

  void start(std::span<const JointRelease::Start> starts) noexcept {
    if (starts.size() > 1) ++round_.pairs;
    for (const auto& [task, secondary_compute, paired] : starts) {
      jobs_[task].concurrency = paired ? hal::Concurrency::concurrent : hal::Concurrency::alone;
      const hal::Work work{.run = [](void* job) noexcept { return static_cast<Job*>(job)->execute(); },
                           .done =
                               [](void* self, Status outcome, Instant begin, Instant end) noexcept {
                                 const Job& job = *static_cast<Job*>(self);
                                 job.run->end(job.task, outcome, begin, end);
                               },
                           .context = &jobs_[task]};
      // An engine has at most one job at a time, so its queue is never full
      (void)device_.engine(secondary_compute ? hal::EngineKind::secondary_compute : hal::EngineKind::compute)
          .submit(work);
    }
  }

  void end(std::size_t task, Status outcome, Instant begin, Instant end) noexcept {
    const Duration executed = outcome ? device_.executed(end - begin) : end - begin;
    bool all_ended = false;
    {
      const std::scoped_lock lock(mutex_);
      if (!outcome && outcome_) outcome_ = outcome;
      round_.times[task] = executed;
      round_.ends[task] = end - released_;
      start(release_.ended(task));
      all_ended = release_.done();
    }
    if (all_ended) ended_.raise();
  }

  hal::Device& device_;
  std::mutex mutex_; // protects all members below while jobs execute
  JointRelease release_;
  std::vector<Job> jobs_;
  Instant released_{};
  MemoryRound round_;
  Status outcome_;
  hal::Signal ended_;
};

class MachineMemory final : public MemoryPlatform {
 public:
  MachineMemory(const Board& board, MeasuredDevice measured)
      : unified_(board.unified_memory || board.memory_is_of_host()),
        claim_(std::move(measured.claim)),
        device_(std::move(measured.device)) {
    if (const auto gpu = hal::CudaDevice::of(*device_, "prefetching"))
      prefetches_ = !unified_ && (*gpu)->can_prefetch();
  }

  std::string name() const override { return std::string(rtexec::name(device_->kind())); }
  policies::MemoryCosts costs() const override { return {.unified = unified_}; }

  policies::MemoryTraffic traffic(WorkloadKind kind, unsigned size) override {
    auto traffic = traffic_of(kind, size);
    traffic.prefetch = prefetches_;
    return traffic;
  }

  Result<Duration> execution(WorkloadKind kind, unsigned size, const MemoryRounds& rounds) override {
    return caught([&] {
      const auto workload = bound({kind, size, MemoryPolicy::device});
      check(workload->before(0), *workload);
      const auto once = [&] {
        Duration time{0};
        call([&]() noexcept { return executive::execute_resident(*workload, *device_, time); });
        return time;
      };
      return config::median_of(measured<Duration>(rounds, once, [](Duration time) { return time; }));
    });
  }

  Result<std::vector<std::vector<MemoryRound>>> run(std::span<const MemorySet> sets,
                                                    const MemoryRounds& rounds) override {
    return caught([&] {
      std::vector<Bound> bounds;
      for (const MemorySet& set : sets) {
        bounds.push_back({.set = set, .workloads = {}});
        for (const MemoryCase& each : set) bounds.back().workloads.push_back(bound(each));
      }
      std::uint64_t job = 0;
      const auto all_sets = [&] {
        std::vector<MemoryRound> all;
        for (const Bound& each : bounds) all.push_back(one_round(each, job));
        ++job;
        return all;
      };
      const auto longest = [](const std::vector<MemoryRound>& all) {
        return std::ranges::max(all, {}, &MemoryRound::length).length();
      };
      std::vector<std::vector<MemoryRound>> ran(sets.size());
      for (auto& all : measured<std::vector<MemoryRound>>(rounds, all_sets, longest))
        for (std::size_t set = 0; set < sets.size(); ++set) ran[set].push_back(std::move(all[set]));
      return ran;
    });
  }

 private:
  struct Bound {
    std::span<const MemoryCase> set;
    std::vector<std::unique_ptr<KernelWorkload>> workloads;
  };

  /// Measures repeatedly after a warm-up. The warm-up has more repetitions if a measurement is short.
  template <class Measurement, class Once, class TimeOf>
  static std::vector<Measurement> measured(const MemoryRounds& rounds, Once once, TimeOf time_of) {
    constexpr MemoryRounds to_warm{.least = 1, .most = 5, .enough = std::chrono::milliseconds(20)};
    unsigned count = 0;
    for (Duration spent{0}; to_warm.go_on(count, spent); ++count) spent += time_of(once());
    std::vector<Measurement> all;
    for (Duration spent{0}; rounds.go_on(static_cast<unsigned>(all.size()), spent); spent += time_of(all.back()))
      all.push_back(once());
    return all;
  }

  std::unique_ptr<KernelWorkload> bound(const MemoryCase& wanted) {
    const KernelWorkload::Options options{.kind = wanted.kind, .size = wanted.size, .policy = wanted.policy};
    auto workload = must(KernelWorkload::make(options, device_->kind()));
    must(workload->bind(*device_, {}));
    return workload;
  }

  MemoryRound one_round(const Bound& bound, std::uint64_t job) {
    for (const auto& each : bound.workloads) check(each->before(job), *each);
    JointRun run(*device_, bound.set, bound.workloads);
    MemoryRound round = run();
    if (!run.outcome()) throw Failed{of_device(run.outcome().error())};
    for (const auto& each : bound.workloads) check(each->after(job), *each);
    return round;
  }

  static void check(const Status& status, const KernelWorkload& workload) {
    if (!status) give_up(status.error(), workload.fingerprint() + ": a CPU part failed");
  }

  /// Calls `work` on the compute engine's thread.
  template <class Work> void call(Work work) {
    const auto called = device_->engine(hal::EngineKind::compute).call(work);
    if (!called.outcome) throw Failed{of_device(called.outcome.error())};
  }

  [[nodiscard]] Error of_device(Errc code) const { return device_error(*device_, code, "a device part"); }

  bool unified_;
  bool prefetches_ = false;
  hal::CoreClaim claim_;
  std::unique_ptr<hal::Device> device_;
};

std::span<const SizeRange> size_ranges(DeviceKind device) {
  using enum WorkloadKind;
  // Sizes for arrays of 1 to 256 MB. The arrays are smaller for kernels that are compute-bound, that are numerous, or
  // that access memory at random
  static constexpr SizeRange on_gpu[] = {{vector_add, 1U << 18U, 1U << 26U},
                                         {matrix_add, 512, 8192},
                                         {matrix_multiply, 512, 4096},
                                         {needleman_wunsch, 512, 4096},
                                         {gaussian, 128, 1024},
                                         {hotspot, 512, 8192},
                                         {pathfinder, 512, 1U << 17U},
                                         {bfs, 1U << 15U, 1U << 21U},
                                         {nearest_neighbour, 1U << 18U, 1U << 26U},
                                         {random_access, 1U << 18U, 1U << 24U},
                                         {euclidean_clustering, 1U << 11U, 1U << 15U}};
  static constexpr SizeRange on_core[] = {{vector_add, 1U << 15U, 1U << 22U},
                                          {matrix_add, 181, 2048},
                                          {matrix_multiply, 64, 384},
                                          {needleman_wunsch, 181, 2048},
                                          {gaussian, 64, 384},
                                          {hotspot, 181, 2048},
                                          {pathfinder, 64, 8192},
                                          {bfs, 1U << 12U, 1U << 18U},
                                          {nearest_neighbour, 1U << 15U, 1U << 22U},
                                          {random_access, 1U << 15U, 1U << 21U},
                                          {euclidean_clustering, 256, 2048}};
  switch (device) {
  case DeviceKind::host: return on_core;
  case DeviceKind::cuda: return on_gpu;
  }
  std::unreachable();
}

} // namespace

Result<MemoryMachine> memory_machine(const Board& board) {
  auto measured = measured_device(board, true);
  if (!measured) return Unexpected(measured.error());
  return MemoryMachine{.where = measured->where,
                       .notes = measured->notes,
                       .platform = std::make_unique<MachineMemory>(board, std::move(*measured))};
}

std::vector<MemoryWorkload> measured_workloads(DeviceKind device, Bytes largest) {
  std::vector<MemoryWorkload> workloads;
  for (const auto& [kind, least, most] : size_ranges(device)) {
    const auto fits = [&](unsigned size) {
      return std::ranges::all_of(tasks::benchmark::benchmark_of(kind).arrays(size),
                                 [&](const auto& array) { return array.size <= largest; });
    };
    unsigned end = most;
    while (end > 2 * least && !fits(end)) end -= end / 16;
    workloads.push_back({kind, sizes_between(least, end)});
  }
  return workloads;
}

} // namespace rtexec::study
