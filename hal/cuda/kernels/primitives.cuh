// Device features beyond C++ that kernels use: indices, barriers, shared memory, ordering of kernels. This header alone
// contains them. So device code compiles with nvcc and with clang (without CUDA's headers), and tests can replace the
// features by an emulation on the CPU.
//
// A .cu file starts with this header, or with a header that includes it. The file defines kernels as KERNEL(name,
// threads, Arguments) { ... arguments ... }.
#pragma once

#ifndef RTEXEC_EMULATION

#if !defined(__CUDACC_RTC__) && defined(__clang__)
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __grid_constant__
#include <__clang_cuda_builtin_vars.h>
#endif

#define DEVICE __device__ __forceinline__
/// A function that is called, not inlined. It has external linkage, because the names that nvcc generates for internal
/// linkage depend on the source's folder. For this reason, shared memory must not have a type in an unnamed namespace.
#define DEVICE_CALL inline __device__ __attribute__((noinline))
/// A kernel of at most `threads` threads a block, with one parameter named `arguments`.
#define KERNEL(name, threads, Arguments) \
  extern "C" __global__ void __launch_bounds__(threads) name(const __grid_constant__ Arguments arguments)
#define SHARED __shared__

namespace rtexec::hal::cuda {

DEVICE int thread_index() { return static_cast<int>(threadIdx.x); }
DEVICE int block_threads() { return static_cast<int>(blockDim.x); }
DEVICE int block_x() { return static_cast<int>(blockIdx.x); }
DEVICE int block_y() { return static_cast<int>(blockIdx.y); }
DEVICE int block_z() { return static_cast<int>(blockIdx.z); }
DEVICE int blocks_x() { return static_cast<int>(gridDim.x); }
DEVICE int blocks_y() { return static_cast<int>(gridDim.y); }
DEVICE int blocks_z() { return static_cast<int>(gridDim.z); }

/// Waits for all threads of the block. Each thread then sees the earlier writes of all threads of the block.
DEVICE void barrier() { __syncthreads(); }

/// Returns the dynamic shared memory of the launch, aligned to 16 bytes.
DEVICE char* dynamic_shared() {
  extern __shared__ char __attribute__((aligned(16))) rtexec_dynamic_shared[];
  return rtexec_dynamic_shared;
}

/// Returns shared memory for one T; every call in a kernel returns the same memory. Its contents are undefined until
/// written.
template <class T> DEVICE T& shared_memory() {
  SHARED T value;
  return value;
}

/// Waits until all earlier kernels have ended and their writes are visible. On sm_90 a kernel may start before the
/// previous kernel has ended. So every kernel calls this before it touches memory that another kernel writes or reads.
DEVICE void wait_for_previous() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
/// Allows blocks of the next kernel to start on resources that this kernel leaves free.
DEVICE void let_next_start() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/// Makes this thread's earlier writes to global memory visible to every thread that sees a later write of this thread.
DEVICE void publish() { asm volatile("membar.gl;" ::: "memory"); }
/// Adds one, atomically for the device, and returns the previous value.
DEVICE unsigned count_up(unsigned* counter) {
  unsigned before;
  asm volatile("atom.add.u32 %0, [%1], 1;" : "=r"(before) : "l"(counter) : "memory");
  return before;
}
/// Adds `value`, atomically for the device.
DEVICE void add_up(unsigned long long* sum, unsigned long long value) {
  asm volatile("red.global.add.u64 [%0], %1;" ::"l"(sum), "l"(value) : "memory");
}
/// Replaces the value by zero, atomically for the device, and returns the previous value.
DEVICE unsigned long long take(unsigned long long* from) {
  unsigned long long before;
  asm volatile("atom.global.exch.b64 %0, [%1], 0;" : "=l"(before) : "l"(from) : "memory");
  return before;
}

} // namespace rtexec::hal::cuda

#endif
