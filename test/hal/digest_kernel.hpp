// The digest kernel for the simulated driver: the calling thread computes the device's result.
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

/// Adds the kernel. A `flaw` is added to one half and makes its results wrong.
inline void add_digest_kernel(FakeCudaDriver& driver, std::uint64_t flaw = 0) {
  driver.add_kernel<cuda::DigestArguments>("digest", [flaw](auto, auto, const cuda::DigestArguments& arguments) {
    const Digest digest = digest_of(static_cast<const std::byte*>(arguments.contents), Bytes{arguments.size});
    *arguments.result = {digest.low, digest.high + flaw};
  });
}

} // namespace rtexec::hal::test
