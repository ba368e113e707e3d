// Calls a function template for the type of a tensor's stored elements.
#pragma once

#include "tasks/engine/graph/graph.hpp"

#include <rtexec/tensor.hpp>

#include <cstdint>
#include <utility>

namespace rtexec::tasks::kernels {

using tasks::for_integer;

/// Calls f as for_integer() does. For floats of every precision it calls f with T = float.
template <class F> decltype(auto) for_element(ElementType type, F&& f) {
  if (!is_integer(type)) return f.template operator()<float>();
  return for_integer(type, std::forward<F>(f));
}

/// Calls f.operator()<T>() with a type T that has the size of the stored elements. Use it only for operations that move
/// elements. Elements of four bytes are moved as float, for which there are vectorised kernels.
template <class F> decltype(auto) for_width(ElementType type, F&& f) {
  switch (stored_size(type)) {
  case 1: return f.template operator()<std::uint8_t>();
  case 2: return f.template operator()<std::uint16_t>();
  case 8: return f.template operator()<std::uint64_t>();
  default: return f.template operator()<float>();
  }
}

} // namespace rtexec::tasks::kernels
