// Replaces the primitives.cuh of hal/ and tasks/ and conv_primitives.cuh in the emulation. It is included before a
// kernel's file.
#pragma once

#include "test/tasks/cuda_emulation/emulation.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>

#define DEVICE inline
#define DEVICE_CALL inline
#define SHARED static thread_local
#define RTEXEC_MATRIX_UNITS 1
#define RTEXEC_CLUSTERS 1
#define KERNEL(name, max_threads, Arguments)                                                                           \
  static void emulated_##name(const Arguments& arguments);                                                             \
  static const ::rtexec::test::emulation::Registration registration_##name{                                            \
      #name, [](const ::rtexec::tasks::cuda::Launch& launch, void** given) {                                           \
        const Arguments copied = *static_cast<const Arguments*>(given[0]);                                             \
        ::rtexec::test::emulation::run(                                                                                \
            launch, #name, max_threads, [](const void* own) { emulated_##name(*static_cast<const Arguments*>(own)); }, \
            &copied);                                                                                                  \
      }};                                                                                                              \
  static void emulated_##name([[maybe_unused]] const Arguments& arguments)

namespace rtexec::hal::cuda {

inline int thread_index() { return test::emulation::position.thread; }
inline int block_threads() { return static_cast<int>(test::emulation::position.launch.threads); }
inline int block_x() { return test::emulation::position.block_x; }
inline int block_y() { return test::emulation::position.block_y; }
inline int block_z() { return test::emulation::position.block_z; }
inline int blocks_x() { return static_cast<int>(test::emulation::position.launch.grid_x); }
inline int blocks_y() { return static_cast<int>(test::emulation::position.launch.grid_y); }
inline int blocks_z() { return static_cast<int>(test::emulation::position.launch.grid_z); }

inline void barrier() { test::emulation::barrier(); }
inline char* dynamic_shared() { return test::emulation::dynamic_shared(); }
template <class T> T& shared_memory() {
  static const char key = 0;
  return *static_cast<T*>(test::emulation::static_shared(&key, sizeof(T), alignof(T)));
}

inline void wait_for_previous() { test::emulation::wait_for_previous(); }
inline void let_next_start() {}
inline void publish() {}
inline unsigned count_up(unsigned* counter) { return (*counter)++; }
inline void add_up(unsigned long long* sum, unsigned long long value) { *sum += value; }
inline unsigned long long take(unsigned long long* from) { return std::exchange(*from, 0); }

} // namespace rtexec::hal::cuda

namespace rtexec::tasks::cuda {

using namespace hal::cuda;

inline float load_fresh(const float* from) { return *from; }
inline void must_be_aligned(const void* pointer, unsigned bytes) { test::emulation::must_be_aligned(pointer, bytes); }
inline void load_fresh4(float (&to)[4], const float* from) {
  must_be_aligned(from, 16);
  for (int i = 0; i < 4; ++i) to[i] = from[i];
}

template <class T> T exchange(T value, int mask) {
  struct Operand {
    T value;
    int mask;
    T result;
  } own{value, mask, 0};
  test::emulation::together(&own, [](void* const(&operands)[32]) {
    for (int lane = 0; lane < 32; ++lane) {
      auto& to = *static_cast<Operand*>(operands[lane]);
      to.result = static_cast<const Operand*>(operands[lane ^ to.mask])->value;
    }
  });
  return own.result;
}

inline unsigned float_bits(float value) { return std::bit_cast<unsigned>(value); }
inline float bits_float(unsigned bits) { return std::bit_cast<float>(bits); }
inline float multiply_add(float a, float b, float c) { return std::fma(a, b, c); }
inline float square_root(float value) { return std::sqrt(value); }
inline float power_of_two(float x) { return std::exp2(x); }
inline float inverse(float x) { return 1.0F / x; }

inline float half_bits_to_float(unsigned short bits) {
  const unsigned sign = static_cast<unsigned>(bits & 0x8000) << 16U, magnitude = bits & 0x7fffU;
  if (magnitude >= 0x7c00U) return bits_float(sign | 0x7f800000U | (magnitude & 0x3ffU) << 13U);
  const float value = bits_float(magnitude << 13U) * 0x1p112F; // subnormal halves are normal floats
  return bits_float(sign | float_bits(value));
}
inline unsigned short float_to_half_bits(float value) {
  const unsigned sign = float_bits(value) >> 16U & 0x8000U, magnitude = float_bits(value) & 0x7fffffffU;
  if (magnitude > 0x7f800000U) return static_cast<unsigned short>(sign | 0x7fffU);
  if (magnitude >= 0x477ff000U) return static_cast<unsigned short>(sign | 0x7c00U); // 65520 and above
  if (magnitude < 0x38800000U) // subnormal: adding 0.5 leaves the rounded bits of the half
    return static_cast<unsigned short>(sign | (float_bits(bits_float(magnitude) + 0.5F) - 0x3f000000U));
  const unsigned rounded = magnitude + 0xfffU + (magnitude >> 13U & 1U);
  return static_cast<unsigned short>(sign | ((rounded >> 13U) - 0x1c000U));
}

using SharedAddress = test::emulation::SharedAddress;
inline SharedAddress shared_address(const void* pointer) { return test::emulation::shared_address(pointer); }
inline unsigned count_up_shared(SharedAddress counter) {
  return count_up(reinterpret_cast<unsigned*>(test::emulation::shared_pointer(counter, sizeof(unsigned))));
}
inline SharedAddress in_block_of_cluster(SharedAddress address, int rank) {
  return test::emulation::in_block_of_cluster(address, rank);
}
inline void cluster_barrier() { test::emulation::cluster_barrier(); }
inline void load_from_cluster(float (&to)[4], SharedAddress from) {
  const auto* words = reinterpret_cast<const float*>(test::emulation::shared_pointer(from, 16));
  must_be_aligned(words, 16);
  for (int i = 0; i < 4; ++i) to[i] = words[i];
}
inline void store_to_cluster(SharedAddress to, float value) {
  *reinterpret_cast<float*>(test::emulation::shared_pointer(to, 4)) = value;
}

inline void load_fresh_shared4(float (&to)[4], SharedAddress from) { load_from_cluster(to, from); }
inline void store_shared(SharedAddress to, float value) { store_to_cluster(to, value); }
inline void let_others_run() { test::emulation::let_others_run(); }

inline void fill16(SharedAddress to, unsigned word) {
  auto* words = reinterpret_cast<unsigned*>(test::emulation::shared_pointer(to, 16));
  must_be_aligned(words, 16);
  for (int i = 0; i < 4; ++i) words[i] = word;
}
inline int add_products(unsigned a, unsigned b, int sum) {
  for (unsigned i = 0; i < 32; i += 8) sum += static_cast<std::int8_t>(a >> i) * static_cast<std::int8_t>(b >> i);
  return sum;
}

inline void copy16(SharedAddress to, const void* from, bool valid) { test::emulation::copy_later(to, from, valid); }
inline void commit_copies() { test::emulation::commit_copies(); }
template <int pending> void await_copies() { test::emulation::await_copies(pending); }

inline void load_matrices(unsigned (&to)[4], SharedAddress shared_row) {
  struct Operand {
    const void* row;
    unsigned* to;
  } own{test::emulation::shared_pointer(shared_row, 16), to};
  must_be_aligned(own.row, 16);
  test::emulation::together(&own, [](void* const(&operands)[32]) {
    for (int lane = 0; lane < 32; ++lane)
      for (int matrix = 0; matrix < 4; ++matrix) {
        const auto* row =
            static_cast<const unsigned*>(static_cast<const Operand*>(operands[matrix * 8 + lane / 4])->row);
        static_cast<Operand*>(operands[lane])->to[matrix] = row[lane % 4];
      }
  });
}

inline void load_matrices_transposed(unsigned (&to)[4], SharedAddress shared_row) {
  struct Operand {
    const void* row;
    unsigned* to;
  } own{test::emulation::shared_pointer(shared_row, 16), to};
  must_be_aligned(own.row, 16);
  test::emulation::together(&own, [](void* const(&operands)[32]) {
    for (int lane = 0; lane < 32; ++lane)
      for (int matrix = 0; matrix < 4; ++matrix) {
        const auto half = [&](int row) {
          return static_cast<const unsigned short*>(
              static_cast<const Operand*>(operands[matrix * 8 + row])->row)[lane / 4];
        };
        static_cast<Operand*>(operands[lane])->to[matrix] =
            static_cast<unsigned>(half(lane % 4 * 2)) | static_cast<unsigned>(half(lane % 4 * 2 + 1)) << 16U;
      }
  });
}

/// A lane's part of d += a * b, in the layout of PTX for m16n8k8 (tf32), m16n8k16 (f16) and m16n8k32 (s8).
template <class Sum> struct MatrixOperandsOf {
  Sum* d;
  const unsigned *a, *b;
};
using MatrixOperands = MatrixOperandsOf<float>;

/// Multiplies a(row, k) and b(k, column) and adds to the sums in the lanes' registers; `terms` is the extent of k.
template <int terms, class Sum = float, class A, class B>
void multiply_matrices(void* const (&operands)[32], A a, B b) {
  for (int row = 0; row < 16; ++row)
    for (int column = 0; column < 8; ++column) {
      auto& sum = static_cast<MatrixOperandsOf<Sum>*>(operands[row % 8 * 4 + column / 2])->d[row / 8 * 2 + column % 2];
      for (int k = 0; k < terms; ++k) sum += a(operands, row, k) * b(operands, k, column);
    }
}

inline void multiply_tf32(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  MatrixOperands own{d, a, b};
  test::emulation::together(&own, [](void* const(&operands)[32]) {
    constexpr unsigned kept = 0xffffe000U; // the units ignore the low bits
    multiply_matrices<8>(
        operands,
        [](void* const(&from)[32], int row, int k) {
          return bits_float(static_cast<const MatrixOperands*>(from[row % 8 * 4 + k % 4])->a[row / 8 + k / 4 * 2] &
                            kept);
        },
        [](void* const(&from)[32], int k, int column) {
          return bits_float(static_cast<const MatrixOperands*>(from[column * 4 + k % 4])->b[k / 4] & kept);
        });
  });
}

inline void multiply_half(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  MatrixOperands own{d, a, b};
  test::emulation::together(&own, [](void* const(&operands)[32]) {
    multiply_matrices<16>(
        operands,
        [](void* const(&from)[32], int row, int k) {
          const unsigned word =
              static_cast<const MatrixOperands*>(from[row % 8 * 4 + k % 8 / 2])->a[row / 8 + k / 8 * 2];
          return half_bits_to_float(static_cast<unsigned short>(k % 2 == 0 ? word & 0xffffU : word >> 16U));
        },
        [](void* const(&from)[32], int k, int column) {
          const unsigned word = static_cast<const MatrixOperands*>(from[column * 4 + k % 8 / 2])->b[k / 8];
          return half_bits_to_float(static_cast<unsigned short>(k % 2 == 0 ? word & 0xffffU : word >> 16U));
        });
  });
}

inline void multiply_bytes(int (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  using Own = MatrixOperandsOf<int>;
  Own own{d, a, b};
  test::emulation::together(&own, [](void* const(&operands)[32]) {
    const auto byte = [](unsigned word, int k) {
      return static_cast<int>(static_cast<std::int8_t>(word >> 8 * (k % 4)));
    };
    multiply_matrices<32, int>(
        operands,
        [&](void* const(&from)[32], int row, int k) {
          return byte(static_cast<const Own*>(from[row % 8 * 4 + k % 16 / 4])->a[row / 8 + k / 16 * 2], k);
        },
        [&](void* const(&from)[32], int k, int column) {
          return byte(static_cast<const Own*>(from[column * 4 + k % 16 / 4])->b[k / 16], k);
        });
  });
}

/// Rounds to nearest, ties away from zero.
inline unsigned rounded_to_tf32(unsigned bits) {
  return (bits & 0x7f800000U) == 0x7f800000U ? bits : (bits + 0x1000U) & 0xffffe000U;
}

} // namespace rtexec::tasks::cuda
