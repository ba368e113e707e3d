// What kernels are given: one struct for each, passed by value as the kernel's only parameter. Shared between device
// code and host code: plain C++17, no library. Addresses are device addresses.
#pragma once

#include "hal/digest.hpp"

namespace rtexec::hal::cuda {

constexpr int digest_threads = 256; // of a block, in x

/// Where the blocks of one launch meet; zero before and after it.
struct DigestSums {
  DigestWord low = 0, high = 0;
  unsigned blocks = 0; // that have added theirs
};

/// The kernel's answer; may be host memory that the device sees.
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
