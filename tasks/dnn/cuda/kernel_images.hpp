// The device kernels as the build compiled them: one image for each file of kernels/ and each architecture. They are part of the program, for
// its whole life; which of them a device can load is for its caller to choose.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace rtexec::tasks::cuda {

struct KernelImage {
  std::string_view name; // of the file in kernels/, without ".cu"
  int architecture;      // 62 for sm_62: a cubin runs on it and on later ones of the same ten, PTX on it and on all later ones
  bool ptx;              // text that the driver translates; otherwise a cubin
  const void* data;      // PTX ends with a zero behind its size
  std::size_t size;
};

/// All images; empty when no compiler for them was found. The same at every call; from any thread.
std::span<const KernelImage> kernel_images();

} // namespace rtexec::tasks::cuda
