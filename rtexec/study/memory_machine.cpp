#include "rtexec/study/memory_machine.hpp"

#include "config/must.hpp"
#include "hal/core_claim.hpp"
#include "hal/machine.hpp"
#include "hal/open/open_device.hpp"
#include "rtexec/executive/placement.hpp"
#include "rtexec/study/memory_traffic.hpp"
#include "tasks/kernels/kernel_workload.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

namespace rtexec::study {
namespace {

using tasks::ArrayCopy;
using tasks::KernelWorkload;

/// Kernels of a workload under D by themselves, and copies of what goes in by themselves. On a GPU each is a graph.
class KernelsAlone {
 public:
  KernelsAlone(hal::Device& device, const KernelWorkload& workload) : workload_(workload) {
    if (device.kind() == DeviceKind::host) return;
    gpu_ = must(hal::CudaDevice::of(device, "this micro-benchmark"));
    const auto resources = must(tasks::cuda::Resources::of(*gpu_, tasks::cuda::kernel_images()));
    copies_ = must(gpu_->capture([&]() -> Result<> {
      for (const auto& array : workload_.arrays())
        if (auto put = put_copy(array.copy_in()); !put) return put;
      return {};
    }));
    kernels_ = must(gpu_->capture([&]() -> Result<> {
      for (const auto& step : workload_.steps())
        if (auto put = put_kernel(step, *resources); !put) return put;
      return {};
    }));
  }

  Status copy_in() noexcept {
    if (gpu_ != nullptr) return gpu_->run(copies_);
    for (const auto& array : workload_.arrays())
      if (const auto copy = array.copy_in()) std::memcpy(copy->to, copy->from, copy->size.count);
    return {};
  }
  Status run() noexcept {
    if (gpu_ != nullptr) return gpu_->run(kernels_);
    for (const auto& step : workload_.steps()) step.on_host(step.arguments.data());
    return {};
  }

 private:
  Result<> put_copy(const std::optional<ArrayCopy>& copy) {
    if (!copy) return {};
    const auto pointer = [](const std::byte* at) { return reinterpret_cast<hal::cuda::DevicePointer>(at); };
    return gpu_->checked(gpu_->driver().copy_async(pointer(copy->to), pointer(copy->from), copy->size.count,
                                                   gpu_->stream(hal::EngineKind::compute)),
                         "copying an array of a micro-benchmark");
  }

  Result<> put_kernel(tasks::benchmark::Step step, tasks::cuda::Resources& resources) {
    const auto& launch = step.launch;
    const auto function = resources.function(launch);
    if (!function) return Unexpected(function.error());
    void* arguments[] = {step.arguments.data()};
    return gpu_->checked(
        gpu_->driver().launch(*function, launch.grid_x, launch.grid_y, launch.grid_z, launch.threads, 1, 1,
                              launch.shared, gpu_->stream(hal::EngineKind::compute), arguments, nullptr),
        std::string("launching kernel ") + launch.name);
  }

  const KernelWorkload& workload_;
  hal::CudaDevice* gpu_ = nullptr;
  GpuGraph copies_, kernels_;
};

class MachineMemory final : public MemoryPlant {
 public:
  MachineMemory(const Board& board, std::unique_ptr<hal::Device> device, hal::CoreClaim claim)
      : unified_(board.unified_memory || board.device == DeviceKind::host),
        claim_(std::move(claim)),
        device_(std::move(device)) {
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

  Result<Duration> execution(WorkloadKind kind, unsigned size) override {
    return caught([&] {
      const auto workload = bound({kind, size, MemoryPolicy::device});
      KernelsAlone alone(*device_, *workload);
      check(workload->before(0), *workload);
      std::vector<Duration> times;
      for (unsigned i = 0; i <= most_executions; ++i) {
        Duration time{0};
        call([&]() noexcept -> Status {
          if (const auto copied = alone.copy_in(); !copied) return copied;
          return timed(time, [&]() noexcept { return alone.run(); });
        });
        if (i > 0) times.push_back(time); // the first one warms up
      }
      return median_of(times);
    });
  }

  Result<std::vector<MemoryRound>> run(std::span<const MemoryCase> set, unsigned rounds) override {
    return caught([&] {
      std::vector<std::unique_ptr<KernelWorkload>> workloads;
      for (const MemoryCase& each : set) workloads.push_back(bound(each));
      std::vector<MemoryRound> ran;
      for (unsigned job = 0; job <= rounds; ++job) ran.push_back(one_round(workloads, job));
      ran.erase(ran.begin()); // the first one warms up
      return ran;
    });
  }

 private:
  using Workloads = std::span<const std::unique_ptr<KernelWorkload>>;
  static constexpr unsigned most_executions = 5;

  std::unique_ptr<KernelWorkload> bound(const MemoryCase& wanted) {
    const KernelWorkload::Options options{.kind = wanted.kind, .size = wanted.size, .policy = wanted.policy};
    auto workload = must(KernelWorkload::make(options, device_->kind()));
    must(workload->bind(*device_, {}));
    return workload;
  }

  MemoryRound one_round(Workloads workloads, std::uint64_t job) {
    for (const auto& each : workloads) check(each->before(job), *each);
    MemoryRound round{.times = std::vector<Duration>(workloads.size()),
                      .ends = std::vector<Duration>(workloads.size())};
    call([&]() noexcept -> Status {
      Duration since_release{0};
      for (std::size_t i = 0; i < workloads.size(); ++i) {
        if (const auto done = timed(round.times[i], [&]() noexcept { return workloads[i]->execute(); }); !done)
          return done;
        round.ends[i] = since_release += round.times[i];
      }
      return {};
    });
    for (const auto& each : workloads) check(each->after(job), *each);
    return round;
  }

  static void check(const Status& status, const KernelWorkload& workload) {
    if (!status) give_up(status.error(), workload.fingerprint() + ": a CPU part failed");
  }

  /// On the compute engine's thread; the time as the executive counts it.
  template <class Work> Status timed(Duration& took, Work work) noexcept {
    device_->begin_execution(hal::Company::alone);
    const Instant begin = hal::now();
    const Status done = work();
    took = device_->executed(hal::now() - begin);
    return done;
  }

  /// On the compute engine's thread.
  template <class Work> void call(Work work) {
    const auto called = device_->engine(hal::EngineKind::compute).call(work);
    if (called.outcome) return;
    const auto fault = device_->fault();
    give_up(called.outcome.error(), "device '" + device_->name() + "': a device part failed: " +
                                        (fault ? fault->what : std::string(rtexec::name(called.outcome.error()))));
  }

  bool unified_;
  bool prefetches_ = false;
  hal::CoreClaim claim_;
  std::unique_ptr<hal::Device> device_;
};

/// The core of the compute engine's thread, as the executive chooses it.
unsigned feeder_of(const Board& board) {
  const auto online = hal::Machine().online_cores();
  const bool known = board.compute_core && std::ranges::find(online, *board.compute_core) != online.end();
  return known ? *board.compute_core : online.back();
}

} // namespace

Result<MemoryMachine> memory_machine(const Board& board) {
  return caught([&] {
    const unsigned feeder = feeder_of(board);
    auto claim = must(hal::CoreClaim::take(std::span(&feeder, 1)));
    const bool gpu = board.device == DeviceKind::cuda;
    auto device = must(hal::open_device(board, gpu ? Bytes{0} : board.chunk, board.chunk));
    MemoryMachine machine;
    const std::string core = "core " + std::to_string(feeder);
    machine.where =
        (gpu ? device->name() + ", fed by " + core : core + ", which is the device") + " (" + hal::machine_name() + ")";
    hal::ThreadSettings settings{
        .name = "memory", .core = feeder, .fifo_priority = executive::engine_priority, .reservation = {}};
    auto& engine = device->engine(hal::EngineKind::compute);
    // A host device never rests: the kernel would stop a thread of real-time priority now and then
    if (!gpu || !engine.configure(settings)) {
      settings.fifo_priority = 0;
      must(engine.configure(settings));
      machine.notes.emplace_back("device parts run without real-time priority");
    }
    machine.plant = std::make_unique<MachineMemory>(board, std::move(device), std::move(claim));
    return machine;
  });
}

std::vector<MemoryWorkload> measured_workloads(DeviceKind device, Bytes largest) {
  using enum WorkloadKind;
  struct Range {
    WorkloadKind kind;
    unsigned least, most;
  };
  // Arrays of 1 to 256 MB; less where kernels compute, are many, or access memory at random
  constexpr Range on_gpu[] = {{vector_add, 1U << 18U, 1U << 26U},
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
  constexpr Range on_core[] = {{vector_add, 1U << 15U, 1U << 22U},
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
  std::vector<MemoryWorkload> workloads;
  for (const auto& [kind, least, most] : device == DeviceKind::cuda ? std::span(on_gpu) : std::span(on_core)) {
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
