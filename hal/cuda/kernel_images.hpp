// Device kernels that the build compiled: one image for each .cu file of a component and each architecture. The images
// are part of the program. This header has the images of hal/cuda, and the function by which every component chooses
// its images.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace rtexec::hal::cuda {

struct KernelImage {
  std::string_view name; // name of the file in kernels/, without ".cu"
  /// The number of the architecture: 62 for sm_62. A cubin runs on its architecture and on later architectures with the
  /// same tens digit. PTX runs on its architecture and on all later architectures
  int architecture;
  bool ptx;         // true: PTX, which the driver translates; false: a cubin
  const void* data; // PTX is followed by a zero byte that `size` does not count
  std::size_t size;
};

/// Returns all images of hal/cuda/kernels/; empty if the build found no compiler for kernels. Constant. Any thread.
[[nodiscard]] std::span<const KernelImage> kernel_images();

/// Returns, for every name, the image for the newest architecture that a device of `architecture` can load.
[[nodiscard]] std::vector<KernelImage> choose_images(std::span<const KernelImage> images, int architecture);

} // namespace rtexec::hal::cuda
