// Device primitives for the kernels of networks: exchange between threads, and half precision. They complement
// hal/cuda/kernels/primitives.cuh.
#pragma once

#include "hal/cuda/kernels/primitives.cuh"

#ifndef RTEXEC_EMULATION

namespace rtexec::tasks::cuda {

using namespace hal::cuda;

/// Loads a float that other blocks may have written to global memory. The load bypasses this multiprocessor's cache.
DEVICE float load_fresh(const float* from) {
  float value;
  asm volatile("ld.global.cg.f32 %0, [%1];" : "=f"(value) : "l"(from) : "memory");
  return value;
}

/// Loads four floats as load_fresh() does. The address must be a multiple of 16.
DEVICE void load_fresh4(float (&to)[4], const float* from) {
  asm volatile("ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3])
               : "l"(from)
               : "memory");
}

/// Requires that the address of an access is a multiple of its size in bytes. On the device, any other address causes a
/// fault, so nothing is checked here. The emulation checks the address.
DEVICE void must_be_aligned(const void*, unsigned) {}

/// The address of a byte in this block's shared memory.
using SharedAddress = unsigned;
DEVICE SharedAddress shared_address(const void* pointer) {
  unsigned address;
  asm("{ .reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t; }" : "=r"(address) : "l"(pointer));
  return address;
}
/// Atomically adds 1 to a counter in shared memory, for the threads of the block. Returns the value before the
/// addition. This is faster than count_up().
DEVICE unsigned count_up_shared(SharedAddress counter) {
  unsigned before;
  asm volatile("atom.shared.add.u32 %0, [%1], 1;" : "=r"(before) : "r"(counter) : "memory");
  return before;
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

/// Returns `value` of the lane whose number is this lane's number XOR `mask`. All 32 lanes of the warp must call it.
DEVICE unsigned exchange(unsigned value, int mask) {
  unsigned other;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 700
  asm volatile("shfl.bfly.b32 %0, %1, %2, 31;" : "=r"(other) : "r"(value), "r"(mask));
#else
  asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 31, -1;" : "=r"(other) : "r"(value), "r"(mask));
#endif
  return other;
}
DEVICE float exchange(float value, int mask) { return bits_float(exchange(float_bits(value), mask)); }
DEVICE unsigned long long exchange(unsigned long long value, int mask) {
  const unsigned low = exchange(static_cast<unsigned>(value), mask);
  return static_cast<unsigned long long>(exchange(static_cast<unsigned>(value >> 32U), mask)) << 32U | low;
}

DEVICE float half_bits_to_float(unsigned short bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}
/// Returns the bits of the half that is nearest to `value`; ties go to even. If the value is too large, the half is
/// infinite.
DEVICE unsigned short float_to_half_bits(float value) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}

/// Returns a * b + c, rounded once.
DEVICE float multiply_add(float a, float b, float c) {
  float result;
  asm("fma.rn.f32 %0, %1, %2, %3;" : "=f"(result) : "f"(a), "f"(b), "f"(c));
  return result;
}
/// Returns 2^x within 2 units in the last place. Results below the smallest normal float become zero.
DEVICE float power_of_two(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}
/// Returns 1/x within a unit in the last place for normal floats, and zero for infinities.
DEVICE float inverse(float x) {
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}
DEVICE float square_root(float value) {
  float result;
  asm("sqrt.rn.f32 %0, %1;" : "=f"(result) : "f"(value));
  return result;
}

} // namespace rtexec::tasks::cuda

#endif
