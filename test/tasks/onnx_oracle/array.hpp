// A tensor of the oracle: double precision, row-major.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace rtexec::test {

using Index = std::int64_t;
using Ints = std::vector<Index>;

[[nodiscard]] inline Index product(const Ints& shape) {
  Index count = 1;
  for (const Index extent : shape) count *= extent;
  return count;
}

/// The ONNX type of a tensor's elements.
enum class Kind { real, boolean, uint8, int8, uint16, int16, uint32, int32, uint64, int64 }; // real: float32

struct Array {
  Array() = default;
  explicit Array(Ints extents, Kind of = Kind::real)
      : shape(std::move(extents)), values(static_cast<std::size_t>(product(shape))), kind(of) {}

  [[nodiscard]] Index rank() const { return static_cast<Index>(shape.size()); }
  [[nodiscard]] Index size() const { return static_cast<Index>(values.size()); }
  [[nodiscard]] Index extent(Index axis) const { return shape[static_cast<std::size_t>(axis)]; }
  [[nodiscard]] double& operator[](Index i) { return values[static_cast<std::size_t>(i)]; }
  [[nodiscard]] double operator[](Index i) const { return values[static_cast<std::size_t>(i)]; }

  Ints shape;
  std::vector<double> values;
  Kind kind = Kind::real;
};

/// Returns the position of `index` in a row-major tensor of `shape`.
[[nodiscard]] inline Index offset(const Ints& shape, const Ints& index) {
  Index at = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) at = at * shape[d] + index[d];
  return at;
}

/// Calls f(index) for every index of `shape`, the last dimension fastest.
template <class F> void for_each_index(const Ints& shape, F&& f) {
  Ints index(shape.size());
  for (Index left = product(shape); left > 0; --left) {
    f(std::as_const(index));
    for (std::size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
}

[[nodiscard]] inline std::string to_text(const Ints& list, const char* separator = "x") {
  std::string text;
  for (const Index value : list) text += (text.empty() ? "" : separator) + std::to_string(value);
  return text;
}

} // namespace rtexec::test
