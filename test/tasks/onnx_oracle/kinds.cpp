#include "test/tasks/onnx_oracle/kinds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace rtexec::test {
namespace {

template <class T> Limits limits_of() {
  return {static_cast<double>(std::numeric_limits<T>::lowest()), static_cast<double>(std::numeric_limits<T>::max())};
}

} // namespace

Limits limits(Kind kind) {
  switch (kind) {
  case Kind::real: return limits_of<float>();
  case Kind::boolean: return {0, 1};
  case Kind::uint8: return limits_of<std::uint8_t>();
  case Kind::int8: return limits_of<std::int8_t>();
  case Kind::uint16: return limits_of<std::uint16_t>();
  case Kind::int16: return limits_of<std::int16_t>();
  case Kind::uint32: return limits_of<std::uint32_t>();
  case Kind::int32: return limits_of<std::int32_t>();
  case Kind::uint64: return limits_of<std::uint64_t>();
  case Kind::int64: return limits_of<std::int64_t>();
  }
  throw std::invalid_argument("no kind of element");
}

double wrapped(double value, Kind kind) {
  if (kind == Kind::real) return value;
  if (kind == Kind::boolean) return value != 0 ? 1 : 0;
  const double whole = std::trunc(value);
  const auto [low, high] = limits(kind);
  if (whole >= low && whole <= high) return whole;
  const double count = high - low + 1, above = std::fmod(whole - low, count);
  return low + above + (above < 0 ? count : 0);
}

double saturated(double value, Kind kind) {
  const auto [low, high] = limits(kind);
  return std::clamp(std::nearbyint(value), low, high);
}

Kind kind_of(Index data_type) {
  switch (data_type) {
  case 1:
  case 10:
  case 11:
  case 16: return Kind::real;
  case 2: return Kind::uint8;
  case 3: return Kind::int8;
  case 4: return Kind::uint16;
  case 5: return Kind::int16;
  case 6: return Kind::int32;
  case 7: return Kind::int64;
  case 9: return Kind::boolean;
  case 12: return Kind::uint32;
  case 13: return Kind::uint64;
  default: throw std::invalid_argument("elements of data type " + std::to_string(data_type));
  }
}

Index data_type_of(Kind kind) {
  for (const Index type : {1, 2, 3, 4, 5, 6, 7, 9, 12, 13})
    if (kind_of(type) == kind) return type;
  throw std::invalid_argument("no kind of element");
}

} // namespace rtexec::test
