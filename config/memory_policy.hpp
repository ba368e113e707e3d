// The meaning of a memory policy (D, M or H: device, managed or host memory). Planning, profiling and running share
// this definition.
#pragma once

#include <rtexec/choices.hpp>

namespace rtexec::config {

/// Returns the policy in force: D if `asked` is `automatic`.
[[nodiscard]] constexpr MemoryPolicy in_force(MemoryPolicy asked) noexcept {
  return asked == MemoryPolicy::automatic ? MemoryPolicy::device : asked;
}

/// True if device parts under this policy wait for pages, so that a device part under D may execute in the meantime.
[[nodiscard]] constexpr bool waits_for_pages(MemoryPolicy asked) noexcept {
  return in_force(asked) != MemoryPolicy::device;
}

} // namespace rtexec::config
