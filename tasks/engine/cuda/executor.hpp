// Puts calls into the compute stream of a device: kernels, and convolutions by the method that was chosen. Set-up only:
// what it issues is captured into a graph, or run while tuning. The device must outlive it.
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

/// Where places are on the device.
struct Addresses {
  const std::byte* constants = nullptr;
  std::byte* scratch = nullptr;
  std::span<const std::size_t> offsets;    // of buffers in scratch
  std::span<std::byte* const> elsewhere{}; // by buffer: where it lies if that is not in scratch; those behind do

  [[nodiscard]] std::byte* operator()(const MemoryLocation& place) const;
};

/// What a convolution needs besides its operands.
struct ConvNeeds {
  std::size_t workspace = 0; // bytes
  std::size_t counters = 0;  // words, zero before the call, and after it
};
[[nodiscard]] ConvNeeds needs_of(const ConvCall& call, const ConvMethod& method);

/// Where an input or output lies, dense and row-major, that the device sees: known, or known when a captured graph
/// runs.
struct OuterPlace {
  std::byte* bytes = nullptr;
  void* const* linked = nullptr; // where its address stands then
};

class Executor {
 public:
  struct Options {
    std::span<const KernelImage> images = kernel_images();
    /// Sm_90 on: programmatic stream serialisation: every kernel of ours waits for the one before it by itself
    bool overlap_launches = true;
    bool libraries = true; // cuDNN and cuBLAS may be used
  };

  /// Makes the context current on this thread. refused: the build has no kernels for the device.
  [[nodiscard]] static Result<std::unique_ptr<Executor>> open(hal::CudaDevice& device, Precision precision,
                                                              const Options& options);

  [[nodiscard]] Result<> open_cudnn();
  [[nodiscard]] Result<> open_cublas();
  [[nodiscard]] const Cudnn* cudnn() const { return cudnn_; }
  [[nodiscard]] const Cublas* cublas() const { return cublas_; }
  [[nodiscard]] hal::CudaDevice& device() const { return device_; }

  [[nodiscard]] Result<> issue(const KernelCall& call, const Addresses& addresses);
  /// What `method` needs must be open.
  [[nodiscard]] Result<> issue(const ConvCall& call, const ConvMethod& method, const MemoryLocation& workspace,
                               const MemoryLocation& counters, const Addresses& addresses);
  /// From elements outside of the network to those in its own memory, and back, by a kernel, also where the former are
  /// in host memory: a copy engine that swapping keeps busy lets a copy of a graph wait for as long as it likes (6 s
  /// were seen on an H200).
  [[nodiscard]] Result<> take_in(std::byte* to, ElementType type, const OuterPlace& from, std::size_t count);
  [[nodiscard]] Result<> give_out(const OuterPlace& to, ElementType type, const std::byte* from, std::size_t count);
  /// An event whose time is taken whenever the captured graph runs.
  [[nodiscard]] Result<> record(hal::cuda::Event event);

  /// Before work that does not follow what was issued last: at the beginning of a graph.
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
  bool after_own_kernel_ = false; // what was issued last
  const Cudnn* cudnn_ = nullptr;  // of the resources, once opened
  const Cublas* cublas_ = nullptr;
};

} // namespace rtexec::tasks::cuda
