// Operations on integers and booleans whose type is an argument of the kernel. Values are computed in 64 bits and
// stored modulo 2^n, with n the number of bits of the type. The definitions of operations agree with the host
// (tasks/engine/host/kernels/arithmetic.hpp).
#pragma once

#include "tasks/engine/cuda/kernels/functions.cuh"
#include "tasks/engine/cuda/kernels/half.cuh"

namespace rtexec::tasks::cuda {

/// The value of an integer of any type, extended to 64 bits by its sign or by zeros.
using Integer = unsigned long long;
DEVICE long long as_signed(Integer value) { return static_cast<long long>(value); }
DEVICE Integer extended(long long value) { return static_cast<Integer>(value); }

template <class T> DEVICE Integer load_as(const void* from, long long at) {
  return static_cast<Integer>(static_cast<long long>(static_cast<const T*>(from)[at]));
}
template <class T> DEVICE void store_as(void* to, long long at, Integer value) {
  static_cast<T*>(to)[at] = static_cast<T>(value);
}

constexpr unsigned char u8_flip = 0x80; // u8 is stored as value - 128; inverting this bit converts either way

DEVICE Integer load_integer(const void* from, long long at, Storage storage) {
  switch (storage) {
  case Storage::boolean: return load_as<unsigned char>(from, at);
  case Storage::u8: return load_as<unsigned char>(from, at) ^ u8_flip;
  case Storage::s8: return load_as<signed char>(from, at);
  case Storage::u16: return load_as<unsigned short>(from, at);
  case Storage::s16: return load_as<short>(from, at);
  case Storage::u32: return load_as<unsigned>(from, at);
  case Storage::s32: return load_as<int>(from, at);
  default: return static_cast<const Integer*>(from)[at];
  }
}

DEVICE void store_integer(void* to, long long at, Storage storage, Integer value) {
  switch (size_of(storage)) {
  case 1: return store_as<unsigned char>(to, at, storage == Storage::u8 ? value ^ u8_flip : value);
  case 2: return store_as<unsigned short>(to, at, value);
  case 4: return store_as<unsigned>(to, at, value);
  default: return store_as<Integer>(to, at, value);
  }
}

/// Returns 2^n. n must be an exponent of a normal float.
DEVICE float two_to(int n) { return bits_float(static_cast<unsigned>(127 + n) << 23U); }

/// Returns `value` truncated towards zero. If the result is out of range of the type, returns the nearest integer of
/// the type. Returns 0 for NaN.
DEVICE Integer truncated(float value, Storage to) {
  if (value != value) return 0;
  const int bits = 8 * static_cast<int>(size_of(to));
  if (!is_signed(to)) {
    if (value >= two_to(bits)) return ~0ULL;
    return value > 0.0F ? static_cast<Integer>(value) : 0;
  }
  const Integer most = (1ULL << static_cast<unsigned>(bits - 1)) - 1;
  if (value >= two_to(bits - 1)) return most;
  return value > -two_to(bits - 1) ? extended(static_cast<long long>(value)) : ~most;
}

DEVICE float integer_to_float(Integer value, Storage from) {
  return is_signed(from) ? static_cast<float>(as_signed(value)) : static_cast<float>(value);
}

DEVICE bool is_less(Integer a, Integer b, bool sign) { return sign ? as_signed(a) < as_signed(b) : a < b; }

/// Returns a / b rounded towards zero, or 0 if b is 0.
DEVICE Integer quotient(Integer a, Integer b, bool sign) {
  if (b == 0) return 0;
  if (!sign) return a / b;
  return b == ~0ULL ? 0 - a : extended(as_signed(a) / as_signed(b));
}
DEVICE Integer remainder(Integer a, Integer b, bool sign) {
  if (b == 0 || (sign && b == ~0ULL)) return 0;
  return sign ? extended(as_signed(a) % as_signed(b)) : a % b;
}
/// Returns the remainder of a / b, with the sign of b.
DEVICE Integer modulo(Integer a, Integer b, bool sign) {
  const Integer rest = remainder(a, b, sign);
  return sign && rest != 0 && (as_signed(rest) < 0) != (as_signed(b) < 0) ? rest + b : rest;
}
/// Returns base^exponent. A negative exponent gives the reciprocal, truncated to an integer.
DEVICE Integer power(Integer base, Integer exponent, bool sign) {
  if (sign && as_signed(exponent) < 0) {
    if (base == 1) return 1;
    return base != ~0ULL ? 0 : (exponent & 1U) != 0 ? ~0ULL : 1;
  }
  Integer result = 1;
  for (; exponent != 0; exponent >>= 1U) {
    if ((exponent & 1U) != 0) result *= base;
    base *= base;
  }
  return result;
}
/// Returns value * 2^by. Returns 0 if `by` is negative, or at least the number of bits of the type.
DEVICE Integer shifted_left(Integer value, Integer by, Storage storage) {
  return by < 8 * size_of(storage) ? value << by : 0;
}
/// Returns `value` shifted right by `by` bits, filled with its sign. If `by` is negative, or at least the number of
/// bits of the type, all bits of the result are the sign.
DEVICE Integer shifted_right(Integer value, Integer by, Storage storage) {
  if (!is_signed(storage)) return by < 8 * size_of(storage) ? value >> by : 0;
  return extended(as_signed(value) >> (by < 8 * size_of(storage) ? by : 63U));
}

/// Returns a sort key of x. A greater x has a greater key, equal elements have equal keys, and NaN has the greatest
/// key.
DEVICE unsigned order_of(float x) {
  constexpr unsigned sign = 0x80000000U;
  if (x != x) return ~0U;
  const unsigned bits = float_bits(x);
  return (bits & sign) != 0 ? sign - (bits & ~sign) : sign + bits;
}
DEVICE Integer order_of(Integer x, Storage storage) { return is_signed(storage) ? x ^ 1ULL << 63U : x; }

} // namespace rtexec::tasks::cuda
