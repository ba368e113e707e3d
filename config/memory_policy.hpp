// The meaning of a memory policy (D, M or H: device, managed or host memory), in one place for planning, profiling and
// running.
#pragma once

#include <rtexec/choices.hpp>

namespace rtexec::config {

/// Returns the policy that is used: `auto` means D if no policy was chosen.
[[nodiscard]] constexpr MemoryPolicy in_force(MemoryPolicy asked) noexcept {
  return asked == MemoryPolicy::automatic ? MemoryPolicy::device : asked;
}

/// True if device parts under this policy wait for pages, so that one under D may execute meanwhile.
[[nodiscard]] constexpr bool waits_for_pages(MemoryPolicy asked) noexcept {
  return in_force(asked) != MemoryPolicy::device;
}

} // namespace rtexec::config
