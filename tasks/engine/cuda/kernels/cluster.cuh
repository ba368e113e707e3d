// Synchronisation of the blocks that work together along z: the blocks of a cluster, or a single block.
#pragma once

#include "tasks/engine/cuda/kernels/conv_primitives.cuh"

namespace rtexec::tasks::cuda {

/// Waits for all threads of the blocks that work together. Afterwards each thread sees the writes of all these threads
/// to shared memory.
DEVICE void meet() {
#if defined(RTEXEC_CLUSTERS)
  if (blocks_z() > 1) return cluster_barrier();
#endif
  barrier();
}

} // namespace rtexec::tasks::cuda
