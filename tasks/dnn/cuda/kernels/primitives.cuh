// What kernels use of the device beyond C++: indices, barriers, exchange between threads, half precision, ordering of kernels. One place,
// so that device code compiles with nvcc and with clang (without CUDA's headers), and so that tests can put an emulation on the CPU in its place.
//
// A .cu file starts with this header and defines kernels as KERNEL(name, threads, Arguments) { ... arguments ... }.
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
/// A function that is called, not inlined.
#define DEVICE_CALL static __device__ __attribute__((noinline))
/// A kernel of at most `threads` threads a block, with one parameter named `arguments`.
#define KERNEL(name, threads, Arguments) extern "C" __global__ void __launch_bounds__(threads) name(const __grid_constant__ Arguments arguments)
#define SHARED __shared__

namespace rtexec::tasks::cuda {

DEVICE int thread_index() { return static_cast<int>(threadIdx.x); }
DEVICE int block_threads() { return static_cast<int>(blockDim.x); }
DEVICE int block_x() { return static_cast<int>(blockIdx.x); }
DEVICE int block_y() { return static_cast<int>(blockIdx.y); }
DEVICE int block_z() { return static_cast<int>(blockIdx.z); }
DEVICE int blocks_x() { return static_cast<int>(gridDim.x); }
DEVICE int blocks_y() { return static_cast<int>(gridDim.y); }
DEVICE int blocks_z() { return static_cast<int>(gridDim.z); }

/// All threads of the block arrive, and see each other's writes.
DEVICE void barrier() { __syncthreads(); }

/// Shared memory of the size that the launch asked for, aligned to 16 bytes.
DEVICE char* dynamic_shared() {
  extern __shared__ char __attribute__((aligned(16))) rtexec_dynamic_shared[];
  return rtexec_dynamic_shared;
}

/// Shared memory for one T; every call of a kernel means the same. Contents are undefined until written.
template <class T> DEVICE T& shared_memory() {
  SHARED T value;
  return value;
}

/// On sm_90 a kernel may start before the one ahead of it has ended. Every kernel calls this before it touches what another kernel writes or
/// reads; then all that ran before has ended, and its writes are seen.
DEVICE void wait_for_previous() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
/// The next kernel's blocks may take the places that this one leaves free.
DEVICE void let_next_start() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/// What this thread wrote to global memory is seen by every thread that sees what it writes later.
DEVICE void publish() { asm volatile("membar.gl;" ::: "memory"); }
/// Adds one, as one step for all threads of the device; what was there before.
DEVICE unsigned count_up(unsigned* counter) {
  unsigned before;
  asm volatile("atom.add.u32 %0, [%1], 1;" : "=r"(before) : "l"(counter) : "memory");
  return before;
}
/// A float from global memory as other blocks left it: not from this multiprocessor's cache.
DEVICE float load_fresh(const float* from) {
  float value;
  asm volatile("ld.global.cg.f32 %0, [%1];" : "=f"(value) : "l"(from) : "memory");
  return value;
}

/// Four floats that way, from an address that is a multiple of 16.
DEVICE void load_fresh4(float (&to)[4], const float* from) {
  asm volatile("ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3]) : "l"(from) : "memory");
}

/// What is read or written at once has to be at a multiple of its size: a fault on the device, which the emulation finds as well.
DEVICE void must_be_aligned(const void*, unsigned) {}

/// The value of the lane whose number differs in the bits of `mask`; all 32 lanes of the warp take part.
DEVICE float exchange(float value, int mask) {
  float other;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 700
  asm volatile("shfl.bfly.b32 %0, %1, %2, 31;" : "=f"(other) : "f"(value), "r"(mask));
#else
  asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 31, -1;" : "=f"(other) : "f"(value), "r"(mask));
#endif
  return other;
}

DEVICE unsigned float_bits(float value) {
  unsigned bits;
  asm("mov.b32 %0, %1;" : "=r"(bits) : "f"(value));
  return bits;
}
DEVICE float bits_float(unsigned bits) {
  float value;
  asm("mov.b32 %0, %1;" : "=f"(value) : "r"(bits));
  return value;
}
DEVICE float half_bits_to_float(unsigned short bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}
/// To nearest, ties to even; too large becomes infinite.
DEVICE unsigned short float_to_half_bits(float value) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}

/// a * b + c, rounded once.
DEVICE float multiply_add(float a, float b, float c) {
  float result;
  asm("fma.rn.f32 %0, %1, %2, %3;" : "=f"(result) : "f"(a), "f"(b), "f"(c));
  return result;
}
DEVICE float square_root(float value) {
  float result;
  asm("sqrt.rn.f32 %0, %1;" : "=f"(result) : "f"(value));
  return result;
}

} // namespace rtexec::tasks::cuda

#endif
