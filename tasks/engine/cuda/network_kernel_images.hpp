// The kernels of networks as the build compiled them; see hal/cuda/kernel_images.hpp.
#pragma once

#include "hal/cuda/kernel_images.hpp"

namespace rtexec::tasks::cuda {

using hal::cuda::KernelImage;

/// All images of tasks/engine/cuda/kernels/; empty when no compiler for them was found. The same at every call; from
/// any thread.
[[nodiscard]] std::span<const KernelImage> kernel_images();

} // namespace rtexec::tasks::cuda
