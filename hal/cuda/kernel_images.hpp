// Device kernels as the build compiled them: one image for each .cu file of a room and each architecture. They are part
// of the program, for its whole life. Here: those of this room, and the choice that all rooms make in the same way.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace rtexec::hal::cuda {

struct KernelImage {
  std::string_view name; // of the file in kernels/, without ".cu"
  /// 62 for sm_62: a cubin runs on it and on later ones of the same ten, PTX on it and on all later ones
  int architecture;
  bool ptx;         // text that the driver translates; otherwise a cubin
  const void* data; // PTX ends with a zero behind its size
  std::size_t size;
};

/// All images of hal/cuda/kernels/; empty when no compiler for them was found. The same at every call; from any thread.
[[nodiscard]] std::span<const KernelImage> kernel_images();

/// For every name, the image that a device of `architecture` can load and that was made for the newest architecture.
[[nodiscard]] std::vector<KernelImage> choose_images(std::span<const KernelImage> images, int architecture);

} // namespace rtexec::hal::cuda
