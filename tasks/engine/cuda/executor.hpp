// Issues calls to the compute stream of a device: kernels, and convolutions by the chosen method. Used during set-up
// only: the calls are captured into a CUDA graph, or run while tuning. The device must outlive the executor.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/tensor.hpp>
#include "hal/cuda/cuda_device.hpp"
#include "tasks/engine/cuda/conv_method.hpp"
#include "tasks/engine/cuda/network_kernel_images.hpp"
#include "tasks/engine/cuda/program.hpp"
#include "tasks/engine/cuda/kernel_resources.hpp"

#include <cstddef>
#include <memory>
#include <span>

namespace rtexec::tasks::cuda {

/// Converts memory locations (program.hpp) to device addresses.
struct Addresses {
  const std::byte* constants = nullptr;
  std::byte* scratch = nullptr;
  std::span<const std::size_t> offsets; // for each buffer, its offset in scratch
  /// For each buffer, its address outside of scratch, or null. The span may be shorter than the list of buffers.
  std::span<std::byte* const> elsewhere{};

  [[nodiscard]] std::byte* operator()(const MemoryLocation& location) const;
};

/// The memory that a convolution needs in addition to its operands.
struct ConvNeeds {
  std::size_t workspace = 0; // in bytes
  std::size_t counters = 0;  // in words; zero before and after the call
};
[[nodiscard]] ConvNeeds needs_of(const ConvCall& call, const ConvMethod& method);

/// The device-visible memory of an input or output, dense and row-major. The address is either known now (`bytes`), or
/// is read when a captured graph runs (`linked`).
struct OuterPlace {
  std::byte* bytes = nullptr;
  void* const* linked = nullptr; // points to the pointer that the graph reads when it runs, or null
};

class Executor {
 public:
  struct Options {
    std::span<const KernelImage> images = kernel_images();
    /// Enables programmatic dependent launch (programmatic stream serialization) from sm_90 on. A kernel may then start
    /// before the previous kernel has ended. Each of this project's kernels waits for the previous kernel by itself.
    bool overlap_launches = true;
    bool libraries = true; // allows the use of cuDNN and cuBLAS
  };

  /// Opens an executor and makes the device's context current on this thread. Returns refused if the build has no
  /// kernels for the device.
  [[nodiscard]] static Result<std::unique_ptr<Executor>> open(hal::CudaDevice& device, Precision precision,
                                                              const Options& options);

  [[nodiscard]] Result<> open_cudnn();
  [[nodiscard]] Result<> open_cublas();
  [[nodiscard]] const Cudnn* cudnn() const { return cudnn_; }
  [[nodiscard]] const Cublas* cublas() const { return cublas_; }
  [[nodiscard]] hal::CudaDevice& device() const { return device_; }

  [[nodiscard]] Result<> issue(const KernelCall& call, const Addresses& addresses);
  /// Issues a convolution. The library that `method` uses must be open.
  [[nodiscard]] Result<> issue(const ConvCall& call, const ConvMethod& method, const MemoryLocation& workspace,
                               const MemoryLocation& counters, const Addresses& addresses);
  /// Convert an input to the network's memory (`stage_input`), and an output from the network's memory
  /// (`stage_output`). A kernel converts even from and to host memory, where a copy node of the graph would be usual. A
  /// copy node may wait without limit for a copy engine that swapping keeps busy (6 s were seen on an H200).
  [[nodiscard]] Result<> stage_input(std::byte* to, ElementType type, const OuterPlace& from, std::size_t count);
  [[nodiscard]] Result<> stage_output(const OuterPlace& to, ElementType type, const std::byte* from, std::size_t count);
  /// Records an event in the stream. Each run of the captured graph sets the event's time anew.
  [[nodiscard]] Result<> record(hal::cuda::Event event);

  /// Declares that the next call does not follow a kernel of this project, for example at the beginning of a graph. The
  /// next kernel then starts only after all previous work has ended.
  void begin() { after_own_kernel_ = false; }

 private:
  Executor(std::shared_ptr<Resources> resources, hal::CudaDevice& device, Precision precision, bool overlap_launches,
           bool libraries)
      : resources_(std::move(resources)),
        device_(device),
        precision_(precision),
        overlap_(overlap_launches),
        libraries_(libraries) {}

  [[nodiscard]] Result<> launch(hal::cuda::Function function, const Launch& launch, void* arguments);
  [[nodiscard]] Result<> device_computes(const ConvChoice& choice) const;
  [[nodiscard]] Result<> convolve_by_library(const ConvCall& call, const ConvArguments& arguments,
                                             const ConvMethod& method, std::byte* workspace,
                                             const Addresses& addresses);
  [[nodiscard]] Result<> finish_sums(const ConvCall& call, const Addresses& addresses);

  std::shared_ptr<Resources> resources_;
  hal::CudaDevice& device_;
  Precision precision_;
  bool overlap_;
  bool libraries_;
  bool after_own_kernel_ = false; // true: the last issued call is a kernel of this project
  const Cudnn* cudnn_ = nullptr;  // owned by `resources_`; null until opened
  const Cublas* cublas_ = nullptr;
};

} // namespace rtexec::tasks::cuda
