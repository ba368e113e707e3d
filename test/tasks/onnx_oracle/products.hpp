// Products from which several operators are made.
#pragma once

#include "test/tasks/onnx_oracle/oracle.hpp"

namespace rtexec::test {

/// Returns numpy.matmul of `a` and `b`.
[[nodiscard]] Array matrix_product(Array a, Array b, Kind kind);

/// Returns Conv of `x` and `w` with the attributes of `node`, in any number of dimensions, without a bias.
[[nodiscard]] Array convolution(const Operator& node, const Array& x, const Array& w, Kind kind);

} // namespace rtexec::test
