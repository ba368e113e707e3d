// Blocks that work together along z: the blocks of a cluster, or one block alone.
#pragma once

#include "tasks/engine/cuda/kernels/conv_primitives.cuh"

namespace rtexec::tasks::cuda {

/// Waits for all threads of these blocks. Afterwards they see each other's writes to shared memory.
DEVICE void meet() {
#if defined(RTEXEC_CLUSTERS)
  if (blocks_z() > 1) return cluster_barrier();
#endif
  barrier();
}

} // namespace rtexec::tasks::cuda
