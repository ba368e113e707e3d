// What all networks and micro-benchmarks on one device share: kernels, loaded from the images of this build when first
// asked for, and the handles of cuDNN and cuBLAS. Lives as long as one of them holds it, and the device must outlive
// it. Set-up only, one thread at a time for one device.
#pragma once

#include <rtexec/result.hpp>
#include "hal/cuda/cuda_device.hpp"
#include "tasks/engine/cuda/cublas.hpp"
#include "tasks/engine/cuda/cudnn.hpp"
#include "tasks/engine/cuda/network_kernel_images.hpp"
#include "tasks/engine/cuda/kernels/network_arguments.hpp"

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace rtexec::tasks::cuda {

class Resources {
 public:
  /// Those of `device`, made with `images` where there are none yet. Makes the context current on this thread.
  /// unsupported: `images` has nothing for the device.
  [[nodiscard]] static Result<std::shared_ptr<Resources>> of(hal::CudaDevice& device,
                                                             std::span<const KernelImage> images);
  Resources(const Resources&) = delete;
  Resources& operator=(const Resources&) = delete;

  /// The kernel, allowed the shared memory of `launch`. unsupported: no image has it.
  [[nodiscard]] Result<hal::cuda::Function> function(const Launch& launch);
  /// Puts the kernel into the compute stream; `arguments` is the struct that it takes. `attributes`: how it is launched
  /// where that is not as ever.
  [[nodiscard]] Result<> put(hal::cuda::Function function, const Launch& launch, void* arguments,
                             std::span<hal::cuda::LaunchAttribute> attributes = {});
  /// Opened when first asked for. unsupported: not installed.
  [[nodiscard]] Result<const Cudnn*> cudnn();
  [[nodiscard]] Result<const Cublas*> cublas();

 private:
  Resources(hal::CudaDevice& device, std::vector<KernelImage> images) : device_(device), images_(std::move(images)) {}
  [[nodiscard]] Result<hal::cuda::Function> find(const char* name);

  hal::CudaDevice& device_;
  std::vector<KernelImage> images_; // not loaded
  std::vector<GpuModule> modules_;
  struct Function {
    hal::cuda::Function function;
    unsigned shared; // bytes that it may have
  };
  std::map<std::string, Function, std::less<>> functions_;
  std::unique_ptr<Cudnn> cudnn_;
  std::unique_ptr<Cublas> cublas_;
};

} // namespace rtexec::tasks::cuda
