// Broadcasting of operands with different shapes, as in NumPy.
#pragma once

#include "test/tasks/onnx_oracle/array.hpp"
#include "test/tasks/onnx_oracle/kinds.hpp"

#include <algorithm>

namespace rtexec::test {

/// Returns the shape to which `a` and `b` are broadcast.
[[nodiscard]] inline Ints broadcast(const Ints& a, const Ints& b) {
  Ints shape(std::max(a.size(), b.size()), 1);
  for (const Ints* from : {&a, &b})
    for (std::size_t d = 1; d <= from->size(); ++d) {
      Index& extent = shape[shape.size() - d];
      if (extent == 1) extent = (*from)[from->size() - d];
    }
  return shape;
}

/// Returns the element of `a` at `index` of the broadcast tensor.
[[nodiscard]] inline double broadcast_element(const Array& a, const Ints& index) {
  Ints at(a.shape.size());
  for (std::size_t d = 1; d <= at.size(); ++d) {
    const std::size_t axis = at.size() - d;
    at[axis] = a.shape[axis] == 1 ? 0 : index[index.size() - d];
  }
  return a[offset(a.shape, at)];
}

/// Applies f to the broadcast elements of `a` and `b`.
template <class F> [[nodiscard]] Array combine(const Array& a, const Array& b, Kind kind, F&& f) {
  Array y(broadcast(a.shape, b.shape), kind);
  for_each_index(y.shape, [&](const Ints& at) {
    y[offset(y.shape, at)] = wrapped(f(broadcast_element(a, at), broadcast_element(b, at)), kind);
  });
  return y;
}

} // namespace rtexec::test
