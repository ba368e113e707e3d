// Log-linear classes of whole numbers: 128 linear classes in each power of two, so that a class is at most 1/128 of its
// values wide.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace rtexec::traces::log_linear {

constexpr unsigned sub_bits = 7;
constexpr std::size_t classes = (64 - sub_bits) << sub_bits;

constexpr std::size_t class_of(std::uint64_t value) noexcept {
  const auto width = static_cast<unsigned>(std::bit_width(value));
  if (width <= sub_bits + 1) return value;
  const unsigned shift = width - sub_bits - 1;
  return (static_cast<std::size_t>(shift) << sub_bits) + (value >> shift);
}

/// The largest value of the class.
constexpr std::uint64_t upper_edge(std::size_t index) noexcept {
  if (index < (std::size_t{2} << sub_bits)) return index;
  const std::size_t shift = (index >> sub_bits) - 1;
  const std::uint64_t mantissa = index - (shift << sub_bits);
  return ((mantissa + 1) << shift) - 1;
}

} // namespace rtexec::traces::log_linear
