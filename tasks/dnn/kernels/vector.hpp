// Sixteen floats at once; on machines with narrower vectors the compiler takes several registers.
#pragma once

#include "tasks/dnn/kernels/vectorised.hpp"

#include <cstdint>
#include <cstring>

namespace rtexec::tasks::kernels {

using Vector = float __attribute__((vector_size(64)));
inline constexpr int lanes = 16;

// From and to any address; by reference, since passing wide vectors depends on the instruction set.
RTEXEC_INLINE void load(Vector& v, const float* from) { std::memcpy(&v, from, sizeof v); }
RTEXEC_INLINE void store(float* to, const Vector& v) { std::memcpy(to, &v, sizeof v); }
/// `count` of its floats, of which there are fewer or not; the others are zero.
RTEXEC_INLINE void load_part(Vector& v, const float* from, std::int64_t count) {
  v = Vector{};
  std::memcpy(&v, from, static_cast<std::size_t>(count < lanes ? count : lanes) * sizeof(float));
}
/// Of x[i * stride]; for a stride of 2 two whole vectors are read.
RTEXEC_INLINE void load_strided(Vector& v, const float* x, std::int64_t stride) {
  if (stride == 1) return load(v, x);
  if (stride == 2) {
    Vector low, high;
    load(low, x);
    load(high, x + lanes);
    v = __builtin_shufflevector(low, high, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    return;
  }
  float strided[lanes];
  for (std::int64_t i = 0; i < lanes; ++i) strided[i] = x[i * stride];
  load(v, strided);
}

} // namespace rtexec::tasks::kernels
