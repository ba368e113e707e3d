// Puts calls into the compute stream of a device: kernels found in the images of this build and loaded when first asked for, convolutions by
// the method that was chosen. Set-up only: what it issues is captured into a graph, or run while tuning. The device must outlive it.
#pragma once

#include "config/result.hpp"
#include "hal/cuda/cuda_device.hpp"
#include "tasks/dnn/cuda/conv_method.hpp"
#include "tasks/dnn/cuda/cublas.hpp"
#include "tasks/dnn/cuda/cudnn.hpp"
#include "tasks/dnn/cuda/kernel_images.hpp"
#include "tasks/dnn/cuda/program.hpp"

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rtexec::tasks::cuda {

/// Where places are on the device.
struct Addresses {
  const std::byte* constants = nullptr;
  std::byte* scratch = nullptr;
  std::span<const std::size_t> offsets; // of buffers in scratch

  [[nodiscard]] std::byte* operator()(const Place& place) const;
};

/// What a convolution needs besides its operands.
struct ConvNeeds {
  std::size_t workspace = 0; // bytes
  std::size_t counters = 0;  // words, zero before the call, and after it
};
[[nodiscard]] ConvNeeds needs_of(const ConvCall& call, const ConvMethod& method);

/// For every file of kernels/, the image that a device of `architecture` can load and that was made for the newest architecture.
[[nodiscard]] std::vector<KernelImage> choose_images(std::span<const KernelImage> images, int architecture);

class Executor {
 public:
  struct Options {
    std::span<const KernelImage> images = kernel_images();
    bool overlap_launches = true; // sm_90 on: programmatic stream serialisation: every kernel of ours waits for the one before it by itself
    bool libraries = true;         // cuDNN and cuBLAS may be used
  };

  /// Makes the context current on this thread. unsupported: the build has no kernels for the device.
  [[nodiscard]] static Result<std::unique_ptr<Executor>> open(hal::CudaDevice& device, Precision precision, const Options& options);

  [[nodiscard]] Result<> open_cudnn();
  [[nodiscard]] Result<> open_cublas();
  [[nodiscard]] const Cudnn* cudnn() const { return cudnn_.get(); }
  [[nodiscard]] const Cublas* cublas() const { return cublas_.get(); }
  [[nodiscard]] hal::CudaDevice& device() const { return device_; }

  [[nodiscard]] Result<> issue(const KernelCall& call, const Addresses& addresses);
  /// What `method` needs must be open.
  [[nodiscard]] Result<> issue(const ConvCall& call, const ConvMethod& method, const Place& workspace, const Place& counters, const Addresses& addresses);
  [[nodiscard]] Result<> copy(std::byte* to, const std::byte* from, std::size_t bytes);
  /// An event whose time is taken whenever the captured graph runs.
  [[nodiscard]] Result<> record(hal::cuda::Event event);

  /// Before work that does not follow what was issued last: at the beginning of a graph.
  void begin() { after_own_kernel_ = false; }
  /// Unloads the files of which no kernel was asked for.
  void trim();

 private:
  struct Loaded {
    hal::CudaModule module;
    bool used = false;
  };
  Executor(hal::CudaDevice& device, Precision precision, bool overlap_launches, bool libraries)
      : device_(device), precision_(precision), overlap_(overlap_launches), libraries_(libraries) {}

  [[nodiscard]] Result<hal::cuda::Function> function(const Launch& launch);
  [[nodiscard]] Result<hal::cuda::Function> find(const char* name);
  [[nodiscard]] Result<> launch(hal::cuda::Function function, const Launch& launch, void* arguments);
  [[nodiscard]] Result<> device_computes(const ConvChoice& choice) const;
  [[nodiscard]] Result<> convolve_by_library(const ConvCall& call, const ConvArguments& arguments, const ConvMethod& method, std::byte* workspace, const Addresses& addresses);
  [[nodiscard]] Result<> finish_sums(const ConvCall& call, const Addresses& addresses);

  hal::CudaDevice& device_;
  Precision precision_;
  bool overlap_;
  bool libraries_;
  bool after_own_kernel_ = false; // what was issued last
  std::vector<KernelImage> images_; // not loaded yet, the last one next
  std::vector<Loaded> loaded_;
  std::map<std::string, hal::cuda::Function, std::less<>> functions_;
  std::unique_ptr<Cudnn> cudnn_;
  std::unique_ptr<Cublas> cublas_;
};

} // namespace rtexec::tasks::cuda
