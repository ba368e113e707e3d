// Half precision (IEEE 754 binary16) on the host, for converting constants, inputs and outputs.
#pragma once

#include <bit>
#include <cstdint>

namespace rtexec::tasks {

/// Returns the half that is nearest to `value`; ties go to even. If the value is too large, the half is infinite.
[[nodiscard]] constexpr std::uint16_t to_half(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000U);
  const std::uint32_t magnitude = bits & 0x7fff'ffffU;
  if (magnitude > 0x7f80'0000U) return static_cast<std::uint16_t>(sign | 0x7e00U);  // NaN
  if (magnitude >= 0x4780'0000U) return static_cast<std::uint16_t>(sign | 0x7c00U); // 2^16 or more
  std::uint32_t significand = magnitude;
  unsigned dropped = 13;
  std::uint32_t rebias = 112U << 23;
  if (magnitude < 0x3880'0000U) { // below 2^-14: subnormal
    const auto exponent = magnitude >> 23;
    if (exponent < 102) return sign;
    significand = (magnitude & 0x7f'ffffU) | 0x80'0000U;
    dropped = 126 - exponent;
    rebias = 0;
  }
  std::uint32_t half = (significand - rebias) >> dropped;
  const std::uint32_t rest = significand & ((1U << dropped) - 1), middle = 1U << (dropped - 1);
  if (rest > middle || (rest == middle && (half & 1U))) ++half;
  return static_cast<std::uint16_t>(sign | half);
}

[[nodiscard]] constexpr float from_half(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000U) << 16, exponent = half >> 10 & 0x1fU, significand = half & 0x3ffU;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f80'0000U | significand << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | significand << 13);
  const float magnitude = static_cast<float>(significand) * 0x1p-24F;
  return sign ? -magnitude : magnitude;
}

} // namespace rtexec::tasks
