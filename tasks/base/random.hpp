// The project's own random number generator. It generates the same numbers on every machine and with every compiler.
#pragma once

#include <cstdint>

namespace rtexec::tasks {

/// A SplitMix64 generator (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
class Random {
 public:
  explicit constexpr Random(std::uint64_t seed) : state_(seed) {}

  constexpr std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  /// Returns a uniformly distributed number in [0, 1), a multiple of 2^-24.
  constexpr float fraction() { return static_cast<float>(next() >> 40) * 0x1p-24f; }

  /// Returns a uniformly distributed number in [-1, 1), a multiple of 2^-23. A float represents the number and its
  /// product with a power of two exactly.
  constexpr float centred() {
    return static_cast<float>(static_cast<std::int32_t>(next() >> 40) - (1 << 23)) * 0x1p-23f;
  }

 private:
  std::uint64_t state_;
};

} // namespace rtexec::tasks
