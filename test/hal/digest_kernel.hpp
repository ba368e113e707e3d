// The kernel of digests for the driver in software: what the device computes is computed by the calling thread.
#pragma once

#include "test/hal/fake_cuda_driver.hpp"

#include "hal/cuda/kernel_images.hpp"
#include "hal/cuda/kernels/digest_arguments.hpp"
#include "hal/digest_of.hpp"

#include <array>
#include <cstdint>

namespace rtexec::hal::test {

/// An image that every device can load.
inline constexpr std::array<cuda::KernelImage, 1> digest_images{{{"digest", 50, true, "an image", 8}}};

/// With `flaw`, added to one half, the kernel gives wrong results.
inline void add_digest_kernel(FakeCudaDriver& driver, std::uint64_t flaw = 0) {
  driver.add_kernel<cuda::DigestArguments>("digest", [flaw](auto, auto, const cuda::DigestArguments& arguments) {
    const Digest digest = digest_of(static_cast<const std::byte*>(arguments.contents), Bytes{arguments.size});
    *arguments.result = {digest.low, digest.high + flaw};
  });
}

} // namespace rtexec::hal::test
