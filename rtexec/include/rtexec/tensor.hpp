// An input or an output of a workload: a view of a staging buffer on the host, with a type and a shape.
//
// Ownership: the workload owns the buffer; workload.hpp says who may access the buffer at which time. A copy of a
// Tensor views the same buffer. No function here allocates or fails.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace rtexec {

enum class ElementType : std::uint8_t {
  uint8,
  int32,
  int64,
  float16,
  float32,
  int8,
  boolean,
  uint16,
  int16,
  uint32,
  uint64,
  float64
};

/// The bits of an IEEE 754 binary16 number.
struct Float16 {
  std::uint16_t bits = 0;
};

/// Returns the size of an element, in bytes.
[[nodiscard]] constexpr std::size_t size_of(ElementType type) noexcept {
  switch (type) {
  case ElementType::uint8:
  case ElementType::int8:
  case ElementType::boolean: return 1;
  case ElementType::uint16:
  case ElementType::int16:
  case ElementType::float16: return 2;
  case ElementType::uint32:
  case ElementType::int32:
  case ElementType::float32: return 4;
  case ElementType::uint64:
  case ElementType::int64:
  case ElementType::float64: return 8;
  }
  return 0;
}

/// Returns NumPy's name of the type.
[[nodiscard]] constexpr std::string_view name(ElementType type) noexcept {
  switch (type) {
  case ElementType::uint8: return "uint8";
  case ElementType::int32: return "int32";
  case ElementType::int64: return "int64";
  case ElementType::float16: return "float16";
  case ElementType::float32: return "float32";
  case ElementType::int8: return "int8";
  case ElementType::boolean: return "bool";
  case ElementType::uint16: return "uint16";
  case ElementType::int16: return "int16";
  case ElementType::uint32: return "uint32";
  case ElementType::uint64: return "uint64";
  case ElementType::float64: return "float64";
  }
  return {};
}

struct Tensor {
  std::string name;
  ElementType type = ElementType::float32;
  std::vector<std::int64_t> shape; // every dimension is at least 1; empty: one element
  /// All elements, dense and row-major, aligned for their type. If the device allocates the buffer, `bytes` is empty
  /// before the workload's bind().
  std::span<std::byte> bytes;
  /// The normalisation of pictures for this input, per channel (red, green, blue), on values in [0, 1]: (value - mean)
  /// / deviation.
  std::array<float, 3> mean{0, 0, 0};
  std::array<float, 3> deviation{1, 1, 1};

  /// Returns the elements. T must be an integer type of <cstdint>, Float16, float, double or bool, and may be const.
  /// Returns an empty span if T is not the type of the elements.
  template <class T> [[nodiscard]] std::span<T> as() const noexcept {
    if (type != element_type<std::remove_const_t<T>>()) return {};
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }

 private:
  template <class T> static constexpr ElementType element_type() noexcept {
    if constexpr (std::is_same_v<T, std::uint8_t>) return ElementType::uint8;
    else if constexpr (std::is_same_v<T, std::int8_t>) return ElementType::int8;
    else if constexpr (std::is_same_v<T, bool>) return ElementType::boolean;
    else if constexpr (std::is_same_v<T, std::uint16_t>) return ElementType::uint16;
    else if constexpr (std::is_same_v<T, std::int16_t>) return ElementType::int16;
    else if constexpr (std::is_same_v<T, std::uint32_t>) return ElementType::uint32;
    else if constexpr (std::is_same_v<T, std::int32_t>) return ElementType::int32;
    else if constexpr (std::is_same_v<T, std::uint64_t>) return ElementType::uint64;
    else if constexpr (std::is_same_v<T, std::int64_t>) return ElementType::int64;
    else if constexpr (std::is_same_v<T, double>) return ElementType::float64;
    else if constexpr (std::is_same_v<T, Float16>) return ElementType::float16;
    else {
      static_assert(std::is_same_v<T, float>, "no element of a tensor is of this type");
      return ElementType::float32;
    }
  }
};

} // namespace rtexec
