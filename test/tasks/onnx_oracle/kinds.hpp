// The element types: their ranges, and conversions to them.
#pragma once

#include "test/tasks/onnx_oracle/array.hpp"

namespace rtexec::test {

struct Limits {
  double low = 0, high = 0;
};
[[nodiscard]] Limits limits(Kind kind);

[[nodiscard]] inline bool is_integer(Kind kind) { return kind != Kind::real; }
[[nodiscard]] inline bool is_signed(Kind kind) { return limits(kind).low < 0; }

/// Returns `value` as arithmetic in `kind` gives it: without its fraction, modulo the number of values of the type.
[[nodiscard]] double wrapped(double value, Kind kind);
/// Returns `value` rounded to nearest, ties to even, and clamped to the type's limits.
[[nodiscard]] double saturated(double value, Kind kind);

/// Returns the kind of a TensorProto.DataType; float16, bfloat16 and double are real. Throws std::invalid_argument for
/// others.
[[nodiscard]] Kind kind_of(Index data_type);
[[nodiscard]] Index data_type_of(Kind kind);

} // namespace rtexec::test
