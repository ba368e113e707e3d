// Runs a micro-benchmark (benchmark.hpp) as a workload under a memory policy (D: device, M: managed, H: host memory).
// The first CPU part of a job writes the inputs. So the host's caches hold modified lines, and managed pages are on the
// host. The device part makes the policy's copies and runs the kernels. The last CPU part reads the results into a
// checksum. Therefore each job has the costs of its policy.
//
// The arrays are the workload's own buffers, separate from the device's chunks. They are not swapped, and reduce the
// capacity of the device. On a GPU, copies and kernels form one CUDA graph in the compute stream. The copies compete
// with swapping for the copy engines. Under M, if the device can prefetch, arrays that the host can access are
// prefetched to the device before the graph. Outputs are prefetched back to the host after the graph, in the same
// stream. Therefore neither host nor device has page faults.
//
// On the host device M and H use ordinary memory, and the costs of policies are emulated (emulated_costs.hpp). The
// threading rules and errors of Workload apply.
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
    WorkloadKind kind = WorkloadKind::vector_add; // must satisfy is_micro_benchmark()
    unsigned size = 1;
    /// `automatic` means policy D (device memory). Under policy D/H (device and host memory) each job executes as under
    /// D or as under H.
    MemoryPolicy policy = MemoryPolicy::device;
    std::span<const cuda::KernelImage> images = cuda::kernel_images();
    bool prefetch = true; // true: prefetch pages under policy M; false: pages move by faults
  };
  /// Makes the workload. Returns bad_input for a size that the benchmark does not allow.
  [[nodiscard]] static Result<std::unique_ptr<KernelWorkload>> make(const Options& options, DeviceKind kind);

  [[nodiscard]] MemoryDemand memory() const override;
  [[nodiscard]] std::span<const std::byte> constants() const override { return {}; }
  /// The result depends on the benchmark, its size, the policy and the kind of device.
  [[nodiscard]] std::string fingerprint() const override;
  /// Adopts a tuned choice of how arrays get their first contents (initialiser.hpp). The choice is used under policy M
  /// on a GPU that prefetches.
  [[nodiscard]] Result<> use(std::span<const std::string> tuning) override;
  [[nodiscard]] Result<std::vector<std::string>> tune(Device& device, const TuningProgress& progress) override;
  /// Allocates the arrays. Under M (managed memory) on a GPU that prefetches, also fills managed arrays with the
  /// contents of job 0, and moves them to the host. Therefore no job is the first to touch a page.
  [[nodiscard]] Result<> bind(Device& device, const Memory& memory) override;
  void observe_contents(const initialise::Observer& observer) override { contents_observer_ = observer; }

  [[nodiscard]] Status before(std::uint64_t job) noexcept override;
  [[nodiscard]] Status execute() noexcept override;
  [[nodiscard]] Status execute_as(MemoryPolicy policy) noexcept override;
  [[nodiscard]] Status after(std::uint64_t job) noexcept override;
  [[nodiscard]] Status make_resident() noexcept override { return status_of(JobPart::copies_in); }
  [[nodiscard]] Status execute_resident() noexcept override { return status_of(JobPart::kernels); }

  /// The three phases of a job's device part. Executed in this order, the phases have the effect of execute() under
  /// policy D (device memory).
  enum class JobPart { copies_in, kernels, copies_out };
  /// Executes one phase. Call it during set-up, on the thread of a compute engine.
  [[nodiscard]] Result<> run(JobPart part);
  /// Executes all phases, and returns the time of the phase `kernels`.
  [[nodiscard]] Result<Duration> time_kernels();

  /// Returns the memory that bind() will allocate.
  [[nodiscard]] Footprint footprint() const;
  [[nodiscard]] WorkloadKind kind() const { return options_.kind; }
  [[nodiscard]] unsigned size() const { return options_.size; }
  [[nodiscard]] bool prefetch() const { return options_.prefetch; }
  [[nodiscard]] std::span<const benchmark::ArrayDemand> demands() const { return demands_; }
  /// Returns the arrays. Valid after bind().
  [[nodiscard]] std::span<const SharedArray> arrays() const { return arrays_; }
  /// Returns the kernels of one job. Valid after bind().
  [[nodiscard]] std::span<const benchmark::Step> steps() const { return steps_; }
  /// Returns the checksum of the outputs of the last job whose last CPU part, after(), has returned.
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
  std::vector<std::byte*> host_; // host addresses of the arrays
  std::vector<benchmark::Step> steps_;
  InitialiserChoice first_contents_;
  initialise::Observer contents_observer_;
  EmulatedCosts costs_; // for the host device
  std::uint64_t checksum_ = 0;
  /// Under policy D/H: a workload that executes under policy H, in the arrays of this workload.
  std::unique_ptr<KernelWorkload> in_place_;
  // Members for a GPU
  hal::CudaDevice* gpu_ = nullptr;
  std::shared_ptr<cuda::Resources> resources_;
  std::vector<hal::cuda::Function> functions_; // kernels of the steps
  GpuGraph graph_;
  std::array<GpuGraph, 3> parts_; // for each JobPart; captured when run() is first called
};

} // namespace rtexec::tasks
