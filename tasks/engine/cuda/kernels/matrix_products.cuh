// The arithmetic of Tensor Cores: multiplies fragments in registers.
#pragma once

#include "tasks/engine/cuda/kernels/conv_primitives.cuh"

#if defined(RTEXEC_MATRIX_UNITS)

namespace rtexec::tasks::cuda {

/// Products in tf32. Weights are rounded to tf32 in advance. Activations are not rounded: Tensor Cores drop the bits
/// that tf32 lacks. This makes activations smaller by the relative error 0.72 * 2^-11 on average (the mean of 1/m over
/// mantissas m, log-uniform in [1, 2)). The sums are scaled to compensate for this error, so that they have no bias, as
/// if activations were rounded.
struct Tf32Product {
  static constexpr float scale = 1.0F + 0.7213F / 2048.0F;
  DEVICE static void multiply(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) { multiply_tf32(d, a, b); }
};

struct HalfProduct {
  static constexpr float scale = 1;
  DEVICE static void multiply(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) { multiply_half(d, a, b); }
};

struct ByteProduct {
  static constexpr float scale = 1;
  DEVICE static void multiply(int (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) { multiply_bytes(d, a, b); }
};

/// Products that are as accurate as float. Each factor x is the sum of two tf32 numbers, x = high + low. The product of
/// the two low parts is omitted, because it is below float's precision.
struct Tf32x3Product {
  static constexpr float scale = 1;
  template <int n> DEVICE static void part(const unsigned (&x)[n], unsigned (&high)[n], unsigned (&low)[n]) {
#pragma unroll
    for (int i = 0; i < n; ++i) {
      high[i] = rounded_to_tf32(x[i]);
      low[i] = rounded_to_tf32(float_bits(bits_float(x[i]) - bits_float(high[i])));
    }
  }
  DEVICE static void multiply(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    unsigned a_high[4], a_low[4], b_high[2], b_low[2];
    part(a, a_high, a_low);
    part(b, b_high, b_low);
    multiply_tf32(d, a_low, b_high);
    multiply_tf32(d, a_high, b_low);
    multiply_tf32(d, a_high, b_high);
  }
};

} // namespace rtexec::tasks::cuda

#endif
