#include "rtexec/studies/calibration/memory_calibration.hpp"

#include "config/base/must.hpp"
#include "hal/cuda/cuda_device.hpp"
#include "hal/thread.hpp"
#include "rtexec/studies/calibration/memory_traffic.hpp"
#include "tasks/loads/benchmarks/kernel_workload.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

namespace rtexec::study {
namespace {

using tasks::KernelWorkload;

constexpr SizeRange on_host[] = {
    {WorkloadKind::vector_add, 1 << 14, 1 << 20},
    {WorkloadKind::needleman_wunsch, 64, 1000},
    {WorkloadKind::gaussian, 32, 256},
    {WorkloadKind::hotspot, 64, 1000},
    {WorkloadKind::pathfinder, 64, 2048},
    {WorkloadKind::bfs, 1 << 12, 1 << 18},
    {WorkloadKind::nearest_neighbour, 1 << 14, 1 << 20},
    {WorkloadKind::matrix_multiply, 32, 256},
    {WorkloadKind::euclidean_clustering, 100, 2000},
};
constexpr SizeRange on_gpu[] = {
    {WorkloadKind::vector_add, 1 << 16, 1 << 25}, {WorkloadKind::matrix_add, 256, 8192},
    {WorkloadKind::needleman_wunsch, 256, 8192},  {WorkloadKind::gaussian, 64, 2048},
    {WorkloadKind::hotspot, 256, 8192},           {WorkloadKind::pathfinder, 4096, 1 << 18},
    {WorkloadKind::bfs, 1 << 14, 1 << 23},        {WorkloadKind::nearest_neighbour, 1 << 16, 1 << 25},
    {WorkloadKind::matrix_multiply, 128, 4096},   {WorkloadKind::euclidean_clustering, 1024, 1 << 16},
};

/// A case to measure: a memory policy, with or without prefetch.
struct PolicyCase {
  MemoryPolicy policy = MemoryPolicy::device;
  bool prefetch = true;
};

/// Returns the cases to measure for each task. Policy D (device memory, with copies) comes first, because the kernels'
/// times are measured under policy D.
std::vector<PolicyCase> cases_of(hal::Device& device, std::span<const MemoryPolicy> policies) {
  const auto* const gpu = hal::CudaDevice::find(device);
  std::vector<PolicyCase> cases{{MemoryPolicy::device}};
  for (const MemoryPolicy policy : {MemoryPolicy::managed, MemoryPolicy::host})
    if (std::ranges::find(policies, policy) != policies.end()) cases.push_back({policy});
  if (gpu != nullptr && gpu->can_prefetch() && cases.size() > 1 && cases[1].policy == MemoryPolicy::managed)
    cases.push_back({MemoryPolicy::managed, false});
  return cases;
}

struct Times {
  Duration job{0}, after{0}, kernels{0};
};

class Measurement {
 public:
  Measurement(hal::Device& device, std::span<const MemoryPolicy> policies, const MemoryCalibrationOptions& options)
      : device_(device), options_(options), cases_(cases_of(device, policies)) {}

  [[nodiscard]] std::size_t cases() const { return cases_.size(); }

  void measure(WorkloadKind kind, unsigned size) {
    std::optional<Times> copied;
    for (const PolicyCase& each : cases_) {
      const auto times = measure(kind, size, each);
      if (each.policy == MemoryPolicy::device) copied = times;
      if (!times || !copied) continue;
      MeasuredTask task{.kind = kind,
                        .size = size,
                        .policy = each.policy,
                        .prefetch = each.prefetch,
                        .traffic = traffic_of(kind, size),
                        .execution = copied->kernels,
                        .job = times->job};
      task.traffic.prefetch = each.prefetch;
      if (!each.prefetch) task.job += std::max(times->after - copied->after, Duration{0});
      tasks_.push_back(std::move(task));
    }
  }
  [[nodiscard]] std::vector<MeasuredTask> take() { return std::move(tasks_); }

 private:
  /// Measures a task in the case `each`. Returns nullopt if the device does not have enough memory.
  std::optional<Times> measure(WorkloadKind kind, unsigned size, const PolicyCase& each) {
    auto workload = must(KernelWorkload::make(
        {.kind = kind, .size = size, .policy = each.policy, .prefetch = each.prefetch}, device_.kind()));
    const auto bound = workload->bind(device_, {});
    if (!bound && bound.error().code == Errc::out_of_memory) return std::nullopt;
    if (!bound) throw Failed{bound.error()};
    Times least{.job = Duration::max(), .after = Duration::max(), .kernels = Duration::max()};
    for (unsigned i = 0; i <= options_.jobs; ++i) { // job 0 warms up and does not count
      const Times times = run(*workload, i, each.policy);
      if (i == 0) continue;
      least.job = std::min(least.job, times.job);
      least.after = std::min(least.after, times.after);
      least.kernels = std::min(least.kernels, times.kernels);
    }
    return least;
  }

  Times run(KernelWorkload& workload, std::uint64_t number, MemoryPolicy policy) {
    Times times;
    must(done(workload.before(number)));
    const auto executed = device_.engine(hal::EngineKind::compute).call([&]() noexcept { return workload.execute(); });
    must(done(executed.outcome));
    times.job = executed.end - executed.begin;
    const Instant begin = hal::now();
    must(done(workload.after(number)));
    times.after = hal::now() - begin;
    if (policy != MemoryPolicy::device) return times;
    must(done(workload.before(number)));
    Result<Duration> kernels = Duration{0};
    must(done(device_.engine(hal::EngineKind::compute)
                  .call([&]() noexcept -> Status {
                    kernels = workload.time_kernels();
                    return {};
                  })
                  .outcome));
    times.kernels = must(std::move(kernels));
    return times;
  }

  static Result<> done(Status status) {
    if (status) return {};
    return fail(status.error(), "a job of a micro-benchmark failed: " + std::string(name(status.error())));
  }

  hal::Device& device_;
  MemoryCalibrationOptions options_;
  std::vector<PolicyCase> cases_;
  std::vector<MeasuredTask> tasks_;
};

} // namespace

std::span<const SizeRange> calibrated_kinds(DeviceKind kind) {
  switch (kind) {
  case DeviceKind::host: return on_host;
  case DeviceKind::cuda: return on_gpu;
  }
  std::unreachable();
}

Result<std::vector<MeasuredTask>> measure_memory(
    hal::Device& device, std::span<const SizeRange> kinds, std::span<const MemoryPolicy> policies,
    const MemoryCalibrationOptions& options, const std::function<bool(std::size_t done, std::size_t of)>& going_on) {
  return caught([&] {
    Measurement measurement(device, policies, options);
    std::size_t done = 0;
    for (const SizeRange& kind : kinds)
      for (const unsigned size : sizes_between(kind.least, kind.most, options.sizes)) {
        measurement.measure(kind.kind, size);
        if (!going_on(++done, kinds.size() * options.sizes))
          give_up(Errc::cancelled, "the measurement was cancelled: nothing was written");
      }
    return measurement.take();
  });
}

Result<MemoryCalibration> fitted(const std::string& device, const MemoryCosts& before,
                                 std::vector<MeasuredTask> tasks) {
  std::vector<policies::MemoryMeasurement> measurements;
  for (const MeasuredTask& task : tasks)
    measurements.push_back(
        {.policy = task.policy, .traffic = task.traffic, .execution = task.execution, .measured = task.job});
  auto found = policies::fit(before, measurements);
  if (!found) return Unexpected(found.error());
  found->costs.mean_error = found->held_out.mean;
  found->costs.worst_error = found->held_out.worst;
  return MemoryCalibration{.device = device, .tasks = std::move(tasks), .fit = *found};
}

Duration estimate(const MemoryCosts& costs, const MeasuredTask& task) {
  return task.execution + policies::memory_overhead(task.policy, costs, task.traffic).all();
}

} // namespace rtexec::study
