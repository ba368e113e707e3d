// Scalar arithmetic on tensor elements that is defined for every operand: integers are computed modulo 2^n, and floats
// have a total order that includes NaN.
#pragma once

#include "tasks/engine/graph/graph.hpp"

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace rtexec::tasks::kernels {

/// True if a precedes b in ascending order. NaN follows every number and equals NaN, as in NumPy.
template <class T> [[nodiscard]] constexpr bool precedes(T a, T b) noexcept {
  // NOLINTNEXTLINE(misc-redundant-expression): a NaN is the one value that differs from itself
  if constexpr (std::is_floating_point_v<T>) return b != b ? a == a : a < b;
  else return a < b;
}

/// An unsigned type of the size of T, or of 32 bits if T is smaller. A smaller type would be promoted to int in
/// arithmetic.
template <std::integral T> using Unsigned = std::conditional_t<(sizeof(T) > 4), std::uint64_t, std::uint32_t>;

/// Calls f on both operands as unsigned integers, and returns the result modulo 2^n.
template <std::integral T, class F> [[nodiscard]] constexpr T modular(T a, T b, F f) noexcept {
  return static_cast<T>(f(static_cast<Unsigned<T>>(a), static_cast<Unsigned<T>>(b)));
}
template <std::integral T> [[nodiscard]] constexpr T negated(T a) noexcept {
  return modular<T>(0, a, [](auto p, auto q) { return p - q; });
}

/// Returns the quotient, rounded towards zero. x / 0 is 0, as in NumPy.
template <std::integral T> [[nodiscard]] constexpr T quotient(T a, T b) noexcept {
  if (b == 0) return 0;
  if (std::is_signed_v<T> && b == static_cast<T>(-1)) return negated(a);
  return static_cast<T>(a / b);
}
/// Returns the remainder with the sign of the dividend. The remainder of a division by 0 is 0.
template <std::integral T> [[nodiscard]] constexpr T remainder(T a, T b) noexcept {
  if (b == 0 || (std::is_signed_v<T> && b == static_cast<T>(-1))) return 0;
  return static_cast<T>(a % b);
}
/// Returns the remainder with the sign of the divisor.
template <std::integral T> [[nodiscard]] constexpr T modulo(T a, T b) noexcept {
  const T rest = remainder(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
}
/// Returns base to the power of exponent, by repeated squaring. A negative exponent gives the reciprocal, truncated to
/// an integer.
template <std::integral T> [[nodiscard]] constexpr T power(T base, T exponent) noexcept {
  if (exponent < 0) {
    if (base == 1) return 1;
    return std::is_signed_v<T> && base == static_cast<T>(-1) ? static_cast<T>(exponent % 2 == 0 ? 1 : -1) : T{0};
  }
  const auto times = [](auto p, auto q) { return p * q; };
  T result = 1;
  for (auto left = static_cast<std::make_unsigned_t<T>>(exponent); left != 0;
       left = static_cast<std::make_unsigned_t<T>>(left >> 1U)) {
    if ((left & 1U) != 0) result = modular(result, base, times);
    base = modular(base, base, times);
  }
  return result;
}
/// Returns value * 2^by modulo 2^n. Returns 0 if `by` is negative, or if it is the number of bits or more.
template <std::integral T> [[nodiscard]] constexpr T shifted_left(T value, T by) noexcept {
  if (by < 0 || static_cast<std::uint64_t>(by) >= 8 * sizeof(T)) return 0;
  return static_cast<T>(static_cast<Unsigned<T>>(value) << static_cast<unsigned>(by));
}
/// Returns the value, arithmetically shifted to the right by `by` bits. If `by` is negative, or if it is the number of
/// bits or more, all bits of the result are the sign.
template <std::integral T> [[nodiscard]] constexpr T shifted_right(T value, T by) noexcept {
  const bool all = by < 0 || static_cast<std::uint64_t>(by) >= 8 * sizeof(T);
  if (all) return static_cast<T>(value < 0 ? -1 : 0);
  return static_cast<T>(value >> static_cast<unsigned>(by));
}

/// Returns the value truncated towards zero, saturated at the range of T. NaN becomes 0.
template <std::integral T> [[nodiscard]] constexpr T truncated(float value) noexcept {
  constexpr float below = static_cast<float>(std::numeric_limits<T>::min());
  constexpr float above = static_cast<float>(std::numeric_limits<T>::max()); // rounded up if T has more bits
  if (!(value < above)) return value != value ? T{0} : std::numeric_limits<T>::max();
  return value > below ? static_cast<T>(value) : std::numeric_limits<T>::min();
}

} // namespace rtexec::tasks::kernels
