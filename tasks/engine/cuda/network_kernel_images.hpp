// The kernels of networks, as compiled by the build; see hal/cuda/kernel_images.hpp.
#pragma once

#include "hal/cuda/kernel_images.hpp"

namespace rtexec::tasks::cuda {

using hal::cuda::KernelImage;

/// Returns the images of all kernels in tasks/engine/cuda/kernels/. The result is empty if the build found no compiler
/// for them. It is constant, and any thread may call this function.
[[nodiscard]] std::span<const KernelImage> kernel_images();

} // namespace rtexec::tasks::cuda
