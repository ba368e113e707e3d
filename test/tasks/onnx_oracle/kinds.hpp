// The types of elements: what they hold, and how values come into them.
#pragma once

#include "test/tasks/onnx_oracle/array.hpp"

namespace rtexec::test {

struct Limits {
  double low = 0, high = 0;
};
[[nodiscard]] Limits limits(Kind kind);

[[nodiscard]] inline bool is_whole(Kind kind) { return kind != Kind::real; }
[[nodiscard]] inline bool is_signed(Kind kind) { return limits(kind).low < 0; }

/// `value` as `kind` holds it after arithmetic: without its fraction, modulo the number of values that there are.
[[nodiscard]] double wrapped(double value, Kind kind);
/// `value` rounded to the nearest, of two to the even one, and held within the limits.
[[nodiscard]] double saturated(double value, Kind kind);

/// The kind of a TensorProto.DataType; float16, bfloat16 and double are real. Throws std::invalid_argument for others.
[[nodiscard]] Kind kind_of(Index data_type);
[[nodiscard]] Index data_type_of(Kind kind);

} // namespace rtexec::test
