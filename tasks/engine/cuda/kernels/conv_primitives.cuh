// Asynchronous copies, matrix instructions and clusters for the convolution kernels. A register holds 32 bits: a float,
// a tf32, two halves, or four bytes. A matrix instruction computes D += A * B; its operands are called fragments. A
// fragment of A is 16 rows by 32 bytes. A fragment of B is 8 rows (columns of the product) by 32 bytes. So one kernel
// body serves tf32 (8 values in 32 bytes), half (16 values) and bytes (32 values).
#pragma once

#include "tasks/engine/cuda/kernels/primitives.cuh"

#ifndef RTEXEC_EMULATION

namespace rtexec::tasks::cuda {

/// Stores `word` four times to shared memory. `to` must be a multiple of 16 bytes.
DEVICE void fill16(SharedAddress to, unsigned word) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %1, %1, %1};" ::"r"(to), "r"(word) : "memory");
}

/// Loads four floats from shared memory. Returns the values that were last written by any thread, even by a thread in
/// another block of the cluster.
DEVICE void load_fresh_shared4(float (&to)[4], SharedAddress from) {
  asm volatile("ld.volatile.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3])
               : "r"(from)
               : "memory");
}
DEVICE void store_shared(SharedAddress to, float value) {
  asm volatile("st.shared.f32 [%0], %1;" ::"r"(to), "f"(value) : "memory");
}
/// Must be called while a thread polls for a value that another thread writes. Has no effect on a device; the emulation
/// runs other threads here.
DEVICE void let_others_run() {}

/// Returns sum plus the products of the four signed bytes of a and b.
DEVICE int add_products(unsigned a, unsigned b, int sum) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 610
  asm("dp4a.s32.s32 %0, %1, %2, %0;" : "+r"(sum) : "r"(a), "r"(b));
#else
#pragma unroll
  for (unsigned i = 0; i < 32; i += 8)
    sum += static_cast<int>(static_cast<signed char>(a >> i & 0xffU)) *
           static_cast<int>(static_cast<signed char>(b >> i & 0xffU));
#endif
  return sum;
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define RTEXEC_MATRIX_UNITS 1

/// Copies 16 bytes from global to shared memory asynchronously. Both addresses must be multiples of 16. If `valid` is
/// false, writes zeros instead and does not read `from`.
DEVICE void copy16(SharedAddress to, const void* from, bool valid) {
  const int size = valid ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(size) : "memory");
}
/// Puts all copies since the last commit into one group.
DEVICE void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Waits until the copy groups of this thread have arrived, except the last `pending` groups.
template <int pending> DEVICE void await_copies() { asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory"); }

/// Loads four matrices of 8 rows by 16 bytes. Lane i passes the address of row i % 8 of matrix i / 8. It receives word
/// i % 4 of row i / 4 of each matrix.
DEVICE void load_matrices(unsigned (&to)[4], SharedAddress row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(row)
               : "memory");
}

/// Loads four matrices of halves, transposed. From each matrix, lane i receives the halves of column i / 4 in rows i %
/// 4 * 2 and i % 4 * 2 + 1.
DEVICE void load_matrices_transposed(unsigned (&to)[4], SharedAddress row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(row)
               : "memory");
}

/// Computes d += a * b in tf32, for matrices of m x n x k = 16x8x8.
DEVICE void multiply_tf32(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
/// Computes d += a * b in half, for matrices of m x n x k = 16x8x16. The sums are float.
DEVICE void multiply_half(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
/// Computes d += a * b in int8, for matrices of m x n x k = 16x8x32. The sums are int32.
DEVICE void multiply_bytes(int (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
/// Returns the bits of the tf32 that is nearest to the float with the bits `bits`.
DEVICE unsigned rounded_to_tf32(unsigned bits) {
  unsigned result;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(result) : "f"(bits_float(bits)));
  return result;
}

#else

DEVICE void copy16(SharedAddress to, const void* from, bool valid) {
  struct alignas(16) Quad {
    unsigned word[4];
  };
  const Quad quad = valid ? *static_cast<const Quad*>(from) : Quad{};
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(quad.word[0]), "r"(quad.word[1]),
               "r"(quad.word[2]), "r"(quad.word[3])
               : "memory");
}
DEVICE void commit_copies() {}
template <int pending> DEVICE void await_copies() {}

#endif

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define RTEXEC_CLUSTERS 1

/// Waits for all threads of the cluster. Afterwards each thread sees the writes of all these threads to shared memory.
DEVICE void cluster_barrier() {
  asm volatile("barrier.cluster.arrive.aligned;" ::: "memory");
  asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
}
/// Returns the address of `address` in the shared memory of block number `rank` of the cluster. `address` is an address
/// in this block's shared memory.
DEVICE SharedAddress in_block_of_cluster(SharedAddress address, int rank) {
  unsigned there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
  return there;
}
DEVICE void load_from_cluster(float (&to)[4], SharedAddress from) {
  asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3])
               : "r"(from)
               : "memory");
}
DEVICE void store_to_cluster(SharedAddress to, float value) {
  asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(to), "f"(value) : "memory");
}
#endif

} // namespace rtexec::tasks::cuda

#endif
