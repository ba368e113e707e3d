#include "tasks/dnn/kernels/elements.hpp"

#include "tasks/dnn/graph/half.hpp"
#include "tasks/dnn/kernels/vectorised.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace rtexec::tasks::kernels {
namespace {

template <class T> RTEXEC_INLINE T truncated(float value) noexcept {
  constexpr float below = static_cast<float>(std::numeric_limits<T>::min());
  constexpr float above = static_cast<float>(std::numeric_limits<T>::max()); // rounded up where T has more bits
  if (!(value < above)) return std::isnan(value) ? T{0} : std::numeric_limits<T>::max();
  return value > below ? static_cast<T>(value) : std::numeric_limits<T>::min();
}

template <class T> RTEXEC_INLINE void widen(float* to, const std::byte* from, std::size_t count) noexcept {
  const auto* const elements = reinterpret_cast<const T*>(from);
  RTEXEC_INDEPENDENT
  for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<float>(elements[i]);
}

template <class T> void truncate(std::byte* to, const float* from, std::size_t count) noexcept {
  auto* const elements = reinterpret_cast<T*>(to);
  for (std::size_t i = 0; i < count; ++i) elements[i] = truncated<T>(from[i]);
}

RTEXEC_VECTORISED void from_uint8(float* to, const std::byte* from, std::size_t count) noexcept {
  widen<std::uint8_t>(to, from, count);
}
RTEXEC_VECTORISED void from_int8(float* to, const std::byte* from, std::size_t count) noexcept {
  widen<std::int8_t>(to, from, count);
}
void to_boolean(std::byte* to, const float* from, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) to[i] = std::byte{from[i] != 0};
}
RTEXEC_VECTORISED void from_int32(float* to, const std::byte* from, std::size_t count) noexcept {
  widen<std::int32_t>(to, from, count);
}
RTEXEC_VECTORISED void from_int64(float* to, const std::byte* from, std::size_t count) noexcept {
  widen<std::int64_t>(to, from, count);
}
void to_float64(std::byte* to, const float* from, std::size_t count) noexcept {
  auto* const elements = reinterpret_cast<double*>(to);
  for (std::size_t i = 0; i < count; ++i) elements[i] = static_cast<double>(from[i]);
}
void from_float16(float* to, const std::byte* from, std::size_t count) noexcept {
  const auto* const elements = reinterpret_cast<const std::uint16_t*>(from);
  for (std::size_t i = 0; i < count; ++i) to[i] = from_half(elements[i]);
}
void to_float16(std::byte* to, const float* from, std::size_t count) noexcept {
  auto* const elements = reinterpret_cast<std::uint16_t*>(to);
  for (std::size_t i = 0; i < count; ++i) elements[i] = to_half(from[i]);
}

} // namespace

void to_floats(float* to, ElementType type, const std::byte* from, std::size_t count) noexcept {
  switch (type) {
  case ElementType::uint8:
  case ElementType::boolean: return from_uint8(to, from, count);
  case ElementType::int8: return from_int8(to, from, count);
  case ElementType::int32: return from_int32(to, from, count);
  case ElementType::int64: return from_int64(to, from, count);
  case ElementType::uint16: return widen<std::uint16_t>(to, from, count);
  case ElementType::int16: return widen<std::int16_t>(to, from, count);
  case ElementType::uint32: return widen<std::uint32_t>(to, from, count);
  case ElementType::uint64: return widen<std::uint64_t>(to, from, count);
  case ElementType::float64: return widen<double>(to, from, count);
  case ElementType::float16: return from_float16(to, from, count);
  case ElementType::float32: std::memcpy(to, from, count * sizeof(float));
  }
}

void from_floats(std::byte* to, ElementType type, const float* from, std::size_t count) noexcept {
  switch (type) {
  case ElementType::uint8: return truncate<std::uint8_t>(to, from, count);
  case ElementType::int8: return truncate<std::int8_t>(to, from, count);
  case ElementType::boolean: return to_boolean(to, from, count);
  case ElementType::int32: return truncate<std::int32_t>(to, from, count);
  case ElementType::int64: return truncate<std::int64_t>(to, from, count);
  case ElementType::uint16: return truncate<std::uint16_t>(to, from, count);
  case ElementType::int16: return truncate<std::int16_t>(to, from, count);
  case ElementType::uint32: return truncate<std::uint32_t>(to, from, count);
  case ElementType::uint64: return truncate<std::uint64_t>(to, from, count);
  case ElementType::float64: return to_float64(to, from, count);
  case ElementType::float16: return to_float16(to, from, count);
  case ElementType::float32: std::memcpy(to, from, count * sizeof(float));
  }
}

} // namespace rtexec::tasks::kernels
