// The kernels of networks as the build compiled them; see hal/cuda/kernel_images.hpp.
#pragma once

#include "hal/cuda/kernel_images.hpp"

namespace rtexec::tasks::cuda {

using hal::cuda::KernelImage;

/// Returns all images of tasks/engine/cuda/kernels/; empty if the build found no compiler for them. The result is
/// constant. Any thread may call this.
[[nodiscard]] std::span<const KernelImage> kernel_images();

} // namespace rtexec::tasks::cuda
