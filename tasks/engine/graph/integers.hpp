// The integer elements of a constant, stored in their own type, so that a quantized weight takes one byte.
#pragma once

#include <rtexec/tensor.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

namespace rtexec::tasks {

/// Calls f.operator()<T>(), where T is the integer type of the stored elements. T is uint8_t for booleans, which are
/// stored as 0 and 1.
template <class F> decltype(auto) for_integer(ElementType type, F&& f) {
  switch (type) {
  case ElementType::boolean:
  case ElementType::uint8: return f.template operator()<std::uint8_t>();
  case ElementType::int8: return f.template operator()<std::int8_t>();
  case ElementType::uint16: return f.template operator()<std::uint16_t>();
  case ElementType::int16: return f.template operator()<std::int16_t>();
  case ElementType::uint32: return f.template operator()<std::uint32_t>();
  case ElementType::int32: return f.template operator()<std::int32_t>();
  case ElementType::uint64: return f.template operator()<std::uint64_t>();
  default: return f.template operator()<std::int64_t>();
  }
}

/// A vector of integers or booleans of one type. Elements are read as int64. A uint64 element above the range of int64
/// is read as the int64 with the same bits.
class Integers {
 public:
  /// A random-access iterator. Reading returns a value, not a reference.
  class Iterator {
   public:
    using value_type = std::int64_t;
    using difference_type = std::ptrdiff_t;
    using iterator_category = std::input_iterator_tag;
    using iterator_concept = std::random_access_iterator_tag;

    Iterator() = default;
    Iterator(const Integers& of, std::ptrdiff_t at) : of_(&of), at_(at) {}
    std::int64_t operator*() const { return (*of_)[static_cast<std::size_t>(at_)]; }
    std::int64_t operator[](std::ptrdiff_t n) const { return *(*this + n); }
    Iterator& operator+=(std::ptrdiff_t n) { return at_ += n, *this; }
    Iterator& operator-=(std::ptrdiff_t n) { return *this += -n; }
    Iterator& operator++() { return *this += 1; }
    Iterator& operator--() { return *this -= 1; }
    Iterator operator++(int) { return std::exchange(*this, *this + 1); }
    Iterator operator--(int) { return std::exchange(*this, *this - 1); }
    friend Iterator operator+(Iterator a, std::ptrdiff_t n) { return a += n; }
    friend Iterator operator+(std::ptrdiff_t n, Iterator a) { return a += n; }
    friend Iterator operator-(Iterator a, std::ptrdiff_t n) { return a -= n; }
    friend std::ptrdiff_t operator-(const Iterator& a, const Iterator& b) { return a.at_ - b.at_; }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.at_ == b.at_; }
    friend auto operator<=>(const Iterator& a, const Iterator& b) { return a.at_ <=> b.at_; }

   private:
    const Integers* of_ = nullptr;
    std::ptrdiff_t at_ = 0;
  };
  using value_type = std::int64_t;
  using iterator = Iterator;
  using const_iterator = Iterator;

  Integers() = default;
  /// Creates a vector of `count` zeros.
  Integers(ElementType type, std::size_t count) : type_(type), size_(count), bytes_(count * size_of(type)) {}
  /// Stores `values` modulo the range of `type`. A boolean becomes true for any value but zero.
  Integers(const std::vector<std::int64_t>& values, ElementType type = ElementType::int64)
      : Integers(type, values.size()) {
    for (std::size_t i = 0; i < size_; ++i) set(i, values[i]);
  }
  Integers(std::initializer_list<std::int64_t> values) : Integers(std::vector(values)) {}

  [[nodiscard]] ElementType type() const { return type_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] Iterator begin() const { return {*this, 0}; }
  [[nodiscard]] Iterator end() const { return {*this, static_cast<std::ptrdiff_t>(size_)}; }
  [[nodiscard]] std::int64_t front() const { return (*this)[0]; }
  [[nodiscard]] std::int64_t operator[](std::size_t i) const {
    return for_integer(type_, [&]<class T>() {
      T value;
      std::memcpy(&value, bytes_.data() + i * sizeof(T), sizeof(T));
      return static_cast<std::int64_t>(value);
    });
  }
  void set(std::size_t i, std::int64_t value) {
    if (type_ == ElementType::boolean) value = value != 0;
    for_integer(type_, [&]<class T>() {
      const auto stored = static_cast<T>(value);
      std::memcpy(bytes_.data() + i * sizeof(T), &stored, sizeof(T));
    });
  }
  void fill(std::int64_t value) {
    for (std::size_t i = 0; i < size_; ++i) set(i, value);
  }
  void clear() { *this = {}; }
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }
  [[nodiscard]] std::span<std::byte> bytes() { return bytes_; }

  friend bool operator==(const Integers&, const Integers&) = default;

 private:
  ElementType type_ = ElementType::int64;
  std::size_t size_ = 0;
  std::vector<std::byte> bytes_;
};

} // namespace rtexec::tasks
