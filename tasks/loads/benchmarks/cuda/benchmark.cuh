// Device functions for the kernels of micro-benchmarks, in addition to the engine's primitives. Their results are
// bit-identical to the results of the host device (the CPU back end).
#pragma once

#include "tasks/engine/cuda/kernels/primitives.cuh"
#include "tasks/loads/benchmarks/cuda/benchmark_arguments.hpp"

namespace rtexec::tasks::cuda {

/// Returns the index of this thread in the grid, in direction x.
DEVICE unsigned item() {
  return static_cast<unsigned>(block_x()) * static_cast<unsigned>(block_threads()) +
         static_cast<unsigned>(thread_index());
}

#ifndef RTEXEC_EMULATION
/// Returns a * b, rounded. The compiler cannot fuse it with an addition.
DEVICE float product(float a, float b) {
  float result;
  asm("mul.rn.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
}
/// Computes *word ^= bits as an atomic operation of the device.
DEVICE void flip(unsigned* word, unsigned bits) {
  asm volatile("red.global.xor.b32 [%0], %1;" ::"l"(word), "r"(bits) : "memory");
}
#else
DEVICE float product(float a, float b) { return a * b; }
DEVICE void flip(unsigned* word, unsigned bits) { *word ^= bits; }
#endif

} // namespace rtexec::tasks::cuda
