// Products that several operators are made of.
#pragma once

#include "test/tasks/onnx_oracle/oracle.hpp"

namespace rtexec::test {

/// What numpy.matmul makes of `a` and `b`.
[[nodiscard]] Array matrix_product(Array a, Array b, Kind kind);

/// What Conv with the attributes of `node` makes of `x` and `w`, in any number of dimensions, without a bias.
[[nodiscard]] Array convolution(const Operator& node, const Array& x, const Array& w, Kind kind);

} // namespace rtexec::test
