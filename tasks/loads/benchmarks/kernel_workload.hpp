// Runs a micro-benchmark (benchmark.hpp) as a workload under a memory policy: the first CPU part makes its inputs, so
// that the host's caches are dirty and managed pages are on the host; the device part copies what the policy copies and
// runs its kernels; the last CPU part reads the results into a checksum. So each job pays what its policy costs.
//
// Its arrays are buffers of its own beside the device's chunks: they are not swapped, and count against no capacity. On
// a GPU copies and kernels are one graph in the compute stream; copies wait for the copy engines, which swapping keeps
// busy. Under M, what the host sees is prefetched to the device before the graph and what goes out back to the host
// behind it, in the same stream, where the device can prefetch: neither side then meets page faults. On the host device
// memory is ordinary memory under M and H, and the costs of policies are emulated (emulated_costs.hpp). Threading and
// errors: as Workload.
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/result.hpp>
#include <rtexec/choices.hpp>
#include <rtexec/workload.hpp>
#include "hal/cuda/cuda_device.hpp"
#include "tasks/engine/cuda/network_kernel_images.hpp"
#include "tasks/engine/cuda/kernel_resources.hpp"
#include "tasks/loads/benchmarks/benchmark.hpp"
#include "tasks/loads/benchmarks/emulated_costs.hpp"
#include "tasks/loads/benchmarks/initialiser.hpp"
#include "tasks/loads/benchmarks/shared_array.hpp"

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace rtexec::tasks {

class KernelWorkload final : public Workload {
 public:
  struct Options {
    WorkloadKind kind = WorkloadKind::vector_add; // one that is_micro_benchmark()
    unsigned size = 1;
    MemoryPolicy policy = MemoryPolicy::device; // automatic means that too; D/H executes as either
    std::span<const cuda::KernelImage> images = cuda::kernel_images();
    bool prefetch = true; // under M; false: pages move by faults
  };
  /// bad_input: a size that the benchmark cannot have.
  [[nodiscard]] static Result<std::unique_ptr<KernelWorkload>> make(const Options& options, DeviceKind kind);

  [[nodiscard]] MemoryDemand memory() const override;
  [[nodiscard]] std::span<const std::byte> constants() const override { return {}; }
  /// Of benchmark, size, policy and kind of device.
  [[nodiscard]] std::string fingerprint() const override;
  /// Under M on a GPU that prefetches: who makes first contents, and how (initialiser.hpp).
  [[nodiscard]] Result<> use(std::span<const std::string> tuning) override;
  [[nodiscard]] Result<std::vector<std::string>> tune(Device& device, const TuningProgress& progress) override;
  /// Managed arrays then hold what job 0 makes, where a GPU can make it, and lie on the host: neither side meets pages
  /// for the first time in a job.
  [[nodiscard]] Result<> bind(Device& device, const Memory& memory) override;
  void observe_contents(const initialise::Observer& observer) override { contents_observer_ = observer; }

  [[nodiscard]] Status before(std::uint64_t job) noexcept override;
  [[nodiscard]] Status execute() noexcept override;
  [[nodiscard]] Status execute_as(MemoryPolicy policy) noexcept override;
  [[nodiscard]] Status after(std::uint64_t job) noexcept override;
  [[nodiscard]] Status make_resident() noexcept override { return status_of(JobPart::copies_in); }
  [[nodiscard]] Status execute_resident() noexcept override { return status_of(JobPart::kernels); }

  /// In their order they are a job as execute() does it under D.
  enum class JobPart { copies_in, kernels, copies_out };
  /// Set-up, on the thread of a compute engine.
  [[nodiscard]] Result<> run(JobPart part);
  /// All of them, and how long the kernels took.
  [[nodiscard]] Result<Duration> time_kernels();

  /// What bind() takes, known before.
  [[nodiscard]] Footprint footprint() const;
  [[nodiscard]] WorkloadKind kind() const { return options_.kind; }
  [[nodiscard]] unsigned size() const { return options_.size; }
  [[nodiscard]] bool prefetch() const { return options_.prefetch; }
  [[nodiscard]] std::span<const benchmark::ArrayDemand> demands() const { return demands_; }
  /// After bind().
  [[nodiscard]] std::span<const SharedArray> arrays() const { return arrays_; }
  /// The kernels of one job, after bind().
  [[nodiscard]] std::span<const benchmark::Step> steps() const { return steps_; }
  /// Of what the last job whose after() has returned left in the arrays that go out.
  [[nodiscard]] std::uint64_t checksum() const noexcept { return checksum_; }

 private:
  KernelWorkload(const Options& options, DeviceKind kind);
  using Put = Result<> (KernelWorkload::*)();
  [[nodiscard]] Status status_of(JobPart part) noexcept;
  [[nodiscard]] Result<> use_arrays(Device& device);
  [[nodiscard]] Result<> capture();
  [[nodiscard]] Result<> capture_parts();
  [[nodiscard]] GpuGraph& graph_of(JobPart part) { return parts_[static_cast<std::size_t>(part)]; }
  [[nodiscard]] Result<> captured(GpuGraph& graph, std::initializer_list<Put> parts);
  [[nodiscard]] Result<> put_copies_in();
  [[nodiscard]] Result<> put_kernels();
  [[nodiscard]] Result<> put_copies_out();
  [[nodiscard]] Result<> put_copy(const std::optional<ArrayCopy>& copy);
  void copy_in_on_host() noexcept;
  void run_on_host() noexcept;
  void copy_out_on_host() noexcept;
  static void copy_on_host(const ArrayCopy& copy, Duration least) noexcept;
  [[nodiscard]] bool prefetches() const noexcept;
  [[nodiscard]] Result<> initialise();
  [[nodiscard]] Status execute_prefetched() noexcept;

  const benchmark::Benchmark& benchmark_;
  Options options_;
  DeviceKind kind_;
  std::vector<benchmark::ArrayDemand> demands_;
  std::vector<SharedArray> arrays_;
  std::vector<std::byte*> host_; // addresses of the arrays
  std::vector<benchmark::Step> steps_;
  InitialiserChoice first_contents_;
  initialise::Observer contents_observer_;
  EmulatedCosts costs_; // on the host device
  std::uint64_t checksum_ = 0;
  std::unique_ptr<KernelWorkload> in_place_; // under D/H: what executes under H, in arrays of this one
  // On a GPU
  hal::CudaDevice* gpu_ = nullptr;
  std::shared_ptr<cuda::Resources> resources_;
  std::vector<hal::cuda::Function> functions_; // of the steps
  GpuGraph graph_;
  std::array<GpuGraph, 3> parts_; // by JobPart, once one was run
};

} // namespace rtexec::tasks
