// The kernel that computes the digest of device memory (hal/digest.hpp). Threads stride over the memory, blocks sum the
// results of their threads, and the last block writes the result.
#include "hal/cuda/kernels/digest_arguments.hpp"
#include "hal/cuda/kernels/primitives.cuh"
#include "hal/digest.hpp"

namespace rtexec::hal::cuda {
struct DigestParts {
  DigestWord low[digest_threads], high[digest_threads];
};

namespace {

struct alignas(16) Pair {
  DigestWord first, second;
};

/// Adds the parts of all threads of the block to the part of thread 0. Must be called by each thread of the block.
DEVICE void sum(DigestParts& parts) {
  const int thread = thread_index();
  for (int half = digest_threads / 2; half > 0; half /= 2) {
    barrier();
    if (thread >= half) continue;
    parts.low[thread] += parts.low[thread + half];
    parts.high[thread] += parts.high[thread + half];
  }
}

} // namespace

KERNEL(digest, digest_threads, DigestArguments) {
  wait_for_previous();
  const Pair* contents = static_cast<const Pair*>(arguments.contents);
  const DigestWord count = arguments.size / sizeof(Pair), step = static_cast<DigestWord>(blocks_x()) * digest_threads;
  const int thread = thread_index();
  DigestWord low = 0, high = 0;
  for (DigestWord i = static_cast<DigestWord>(block_x()) * digest_threads + static_cast<DigestWord>(thread); i < count;
       i += step) {
    const Pair pair = contents[i];
    low += digest_low(pair.first, 2 * i) + digest_low(pair.second, 2 * i + 1);
    high += digest_high(pair.first, 2 * i) + digest_high(pair.second, 2 * i + 1);
  }
  auto& parts = shared_memory<DigestParts>();
  parts.low[thread] = low;
  parts.high[thread] = high;
  sum(parts);
  if (thread != 0) return;
  add_up(&arguments.sums->low, parts.low[0]);
  add_up(&arguments.sums->high, parts.high[0]);
  publish();
  if (count_up(&arguments.sums->blocks) + 1 != static_cast<unsigned>(blocks_x())) return;
  arguments.result->low = take(&arguments.sums->low);
  arguments.result->high = take(&arguments.sums->high);
  arguments.sums->blocks = 0;
}

} // namespace rtexec::hal::cuda
