#include "tasks/engine/host/kernels/elements.hpp"

#include "tasks/engine/graph/graph.hpp"
#include "tasks/base/half.hpp"
#include "tasks/base/vectorised.hpp"

#include <cstdint>
#include <cstring>

namespace rtexec::tasks::kernels {
namespace {

template <class T> RTEXEC_INLINE void widen(float* to, const std::byte* from, std::size_t count) noexcept {
  const auto* const elements = reinterpret_cast<const T*>(from);
  RTEXEC_INDEPENDENT
  for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<float>(elements[i]);
}

RTEXEC_VECTORISED void from_uint8(float* to, const std::byte* from, std::size_t count) noexcept {
  widen<std::uint8_t>(to, from, count);
}
RTEXEC_VECTORISED void from_int8(float* to, const std::byte* from, std::size_t count) noexcept {
  widen<std::int8_t>(to, from, count);
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

// The address of a tensor without elements may be null, and memcpy() does not accept null.
void to_floats(float* to, ElementType type, const std::byte* from, std::size_t count) noexcept {
  if (count == 0) return;
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

void stage_input(std::byte* to, ElementType type, const std::byte* from, std::size_t count) noexcept {
  if (count == 0) return;
  if (!is_integer(type)) return to_floats(reinterpret_cast<float*>(to), type, from, count);
  if (type != ElementType::boolean) return void(std::memcpy(to, from, count * size_of(type)));
  for (std::size_t i = 0; i < count; ++i) to[i] = std::byte{from[i] != std::byte{0}};
}

void stage_output(std::byte* to, ElementType type, const std::byte* from, std::size_t count) noexcept {
  if (count == 0) return;
  const auto* const floats = reinterpret_cast<const float*>(from);
  switch (type) {
  case ElementType::float64: return to_float64(to, floats, count);
  case ElementType::float16: return to_float16(to, floats, count);
  default: std::memcpy(to, from, count * size_of(type));
  }
}

} // namespace rtexec::tasks::kernels
