// A vector of sixteen floats. On machines with narrower registers the compiler uses several registers for a vector.
#pragma once

#include "tasks/base/vectorised.hpp"

#include <cstdint>
#include <cstring>

namespace rtexec::tasks::kernels {

using Vector = float __attribute__((vector_size(64)));
inline constexpr int lanes = 16;

// load() and store() accept any address. Vectors are passed by reference, because the calling convention for wide
// vectors differs between instruction sets.
RTEXEC_INLINE void load(Vector& v, const float* from) { std::memcpy(&v, from, sizeof v); }
RTEXEC_INLINE void store(float* to, const Vector& v) { std::memcpy(to, &v, sizeof v); }
/// Loads at most `count` floats, and sets all other lanes to zero.
RTEXEC_INLINE void load_part(Vector& v, const float* from, std::int64_t count) {
  v = Vector{};
  std::memcpy(&v, from, static_cast<std::size_t>(count < lanes ? count : lanes) * sizeof(float));
}
/// split_pairs() separates 2 * lanes floats into the floats at even indices and the floats at odd indices. It works on
/// vectors of type Piece, for which the machine has shuffle instructions. For wider vectors the compiler would move
/// each element separately.
#if defined(__aarch64__)
using Piece = float __attribute__((vector_size(16)));
#define RTEXEC_EVEN 0, 2, 4, 6
#define RTEXEC_ODD 1, 3, 5, 7
#else
using Piece = float __attribute__((vector_size(32)));
#define RTEXEC_EVEN 0, 2, 4, 6, 8, 10, 12, 14
#define RTEXEC_ODD 1, 3, 5, 7, 9, 11, 13, 15
#endif
RTEXEC_INLINE void split_pairs(float* even, float* odd, const float* x) {
  constexpr std::int64_t width = sizeof(Piece) / sizeof(float);
  for (std::int64_t i = 0; i < lanes; i += width) {
    Piece low, high;
    std::memcpy(&low, x + 2 * i, sizeof low);
    std::memcpy(&high, x + 2 * i + width, sizeof high);
    const Piece evens = __builtin_shufflevector(low, high, RTEXEC_EVEN),
                odds = __builtin_shufflevector(low, high, RTEXEC_ODD);
    std::memcpy(even + i, &evens, sizeof evens);
    std::memcpy(odd + i, &odds, sizeof odds);
  }
}
#undef RTEXEC_EVEN
#undef RTEXEC_ODD

/// Sets each element of v to the larger of the elements of v and `other`. Works on vectors of type Piece. A NaN in v
/// stays.
RTEXEC_INLINE void take_larger(Vector& v, const Vector& other) {
  Piece pieces[sizeof(Vector) / sizeof(Piece)], others[sizeof(Vector) / sizeof(Piece)];
  std::memcpy(pieces, &v, sizeof v);
  std::memcpy(others, &other, sizeof other);
  for (std::size_t i = 0; i < sizeof(Vector) / sizeof(Piece); ++i)
    pieces[i] = pieces[i] < others[i] ? others[i] : pieces[i];
  std::memcpy(&v, pieces, sizeof v);
}

/// Loads the elements x[i * stride]. For a stride of 2 it reads two whole vectors.
RTEXEC_INLINE void load_strided(Vector& v, const float* x, std::int64_t stride) {
  if (stride == 1) return load(v, x);
  if (stride == 2) {
    float even[lanes], odd[lanes];
    split_pairs(even, odd, x);
    return load(v, even);
  }
  float strided[lanes];
  for (std::int64_t i = 0; i < lanes; ++i) strided[i] = x[i * stride];
  load(v, strided);
}

} // namespace rtexec::tasks::kernels
