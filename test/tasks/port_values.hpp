// Writes numbers as elements of a network's inputs.
#pragma once

#include "tasks/engine/graph/network.hpp"
#include "tasks/engine/host/kernels/arithmetic.hpp"
#include "tasks/engine/host/kernels/element_types.hpp"
#include "tasks/engine/host/kernels/elements.hpp"

#include <algorithm>
#include <span>

namespace rtexec::tasks {

/// Sets the elements of a port. Integer elements are truncated and saturate.
inline void set_elements(const Network::Port& port, std::span<const float> values) {
  if (!is_integer(port.type))
    return kernels::stage_output(port.bytes.data(), port.type, std::as_bytes(values).data(), values.size());
  kernels::for_integer(port.type, [&]<class T>() {
    std::ranges::transform(values, reinterpret_cast<T*>(port.bytes.data()), kernels::truncated<T>);
  });
}

} // namespace rtexec::tasks
