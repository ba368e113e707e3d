// Resources that all networks and micro-benchmarks on one device share: kernels, and the handles of cuDNN and cuBLAS. A
// kernel is loaded from the images of this build at its first use. The resources exist until their last user releases
// them; the device must outlive them. Used during set-up only, by one thread at a time for each device.
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
  /// Returns the resources of `device`. Creates them from `images` if no user has them yet. Makes the device's context
  /// current on this thread. Returns refused if `images` has no kernels for the device.
  [[nodiscard]] static Result<std::shared_ptr<Resources>> of(hal::CudaDevice& device,
                                                             std::span<const KernelImage> images);
  Resources(const Resources&) = delete;
  Resources& operator=(const Resources&) = delete;

  /// Returns the kernel of `launch`, and sets the attribute that lets it use the dynamic shared memory of `launch`.
  /// Returns refused if no image has the kernel.
  [[nodiscard]] Result<hal::cuda::Function> function(const Launch& launch);
  /// Launches the kernel into the compute stream. `arguments` points to the struct that is the kernel's only parameter.
  /// `attributes` are additional launch attributes.
  [[nodiscard]] Result<> put(hal::cuda::Function function, const Launch& launch, void* arguments,
                             std::span<hal::cuda::LaunchAttribute> attributes = {});
  /// cudnn() and cublas() open their library at the first call. They return unsupported if the library is not
  /// installed.
  [[nodiscard]] Result<const Cudnn*> cudnn();
  [[nodiscard]] Result<const Cublas*> cublas();

 private:
  Resources(hal::CudaDevice& device, std::vector<KernelImage> images) : device_(device), images_(std::move(images)) {}
  [[nodiscard]] Result<hal::cuda::Function> find(const char* name);

  hal::CudaDevice& device_;
  std::vector<KernelImage> images_; // images that are not loaded yet
  std::vector<GpuModule> modules_;
  struct Function {
    hal::cuda::Function function;
    unsigned shared; // bytes of dynamic shared memory that the kernel may use
  };
  std::map<std::string, Function, std::less<>> functions_;
  std::unique_ptr<Cudnn> cudnn_;
  std::unique_ptr<Cublas> cublas_;
};

} // namespace rtexec::tasks::cuda
