// Arguments of kernels: one struct for each kernel, passed by value as its only parameter. Shared between device code
// and host code: plain C++17, no library. Addresses are device addresses.
#pragma once

#include "hal/digest.hpp"

namespace rtexec::hal::cuda {

constexpr int digest_threads = 256; // threads of a block, in x

/// Sums over all blocks of one launch; zero before and after the launch.
struct DigestSums {
  DigestWord low = 0, high = 0;
  unsigned blocks = 0; // the number of blocks that have added their sums
};

/// The kernel's result; may be host memory that the device can access.
struct DigestResult {
  DigestWord low = 0, high = 0;
};

struct DigestArguments {
  const void* contents = nullptr; // aligned to 16 bytes
  DigestWord size = 0;            // bytes, a multiple of 16
  DigestSums* sums = nullptr;
  DigestResult* result = nullptr;
};

} // namespace rtexec::hal::cuda
