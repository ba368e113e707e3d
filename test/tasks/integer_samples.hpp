// Integers of every type at the limits of their ranges, for tests of networks, and their type numbers in ONNX.
#pragma once

#include "test/tasks/dnn_onnx_text.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace rtexec::tasks {

using Wide = __int128;
/// Returns a * b modulo 2^128.
inline Wide product(Wide a, Wide b) {
  using Unsigned = unsigned __int128;
  return static_cast<Wide>(static_cast<Unsigned>(a) * static_cast<Unsigned>(b));
}

inline constexpr int onnx_float = 1, onnx_int64 = 7, onnx_bool = 9;

/// Returns the value of onnx.TensorProto.DataType for T.
template <class T> constexpr int onnx_type() {
  if constexpr (std::is_same_v<T, std::uint8_t>) return 2;
  else if constexpr (std::is_same_v<T, std::int8_t>) return 3;
  else if constexpr (std::is_same_v<T, std::uint16_t>) return 4;
  else if constexpr (std::is_same_v<T, std::int16_t>) return 5;
  else if constexpr (std::is_same_v<T, std::int32_t>) return 6;
  else if constexpr (std::is_same_v<T, std::int64_t>) return 7;
  else if constexpr (std::is_same_v<T, std::uint32_t>) return 12;
  else return 13;
}

inline std::string value(std::string_view role, std::string_view name, int type, std::size_t count) {
  return onnx_value(role, name, {std::to_string(count)}, type);
}

/// Returns the limits of the range, small numbers, and others.
template <class T> std::vector<T> samples(std::size_t count, unsigned seed) {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values{
      Limits::min(), Limits::max(), 0, 1, 2, 10, static_cast<T>(Limits::max() - 1), static_cast<T>(Limits::min() + 1)};
  std::mt19937_64 random(seed);
  while (values.size() < count) values.push_back(static_cast<T>(random() >> (random() % (8 * sizeof(T)))));
  std::shuffle(values.begin(), values.end(), random);
  values.resize(count);
  return values;
}

using IntegerTypes = testing::Types<std::uint8_t, std::int8_t, std::uint16_t, std::int16_t, std::uint32_t, std::int32_t,
                                    std::uint64_t, std::int64_t>;

using WideIntegerTypes = testing::Types<std::uint32_t, std::int32_t, std::uint64_t, std::int64_t>;
using QuantizedIntegerTypes = testing::Types<std::uint8_t, std::int8_t, std::uint16_t, std::int16_t>;

} // namespace rtexec::tasks
