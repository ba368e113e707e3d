// What a memory policy means, in one place for who plans, profiles and runs.
#pragma once

#include <rtexec/choices.hpp>

namespace rtexec::config {

/// `auto` is D where nothing was chosen.
[[nodiscard]] constexpr MemoryPolicy in_force(MemoryPolicy asked) noexcept {
  return asked == MemoryPolicy::automatic ? MemoryPolicy::device : asked;
}

/// Whether device parts wait for pages, so that one under D may execute meanwhile.
[[nodiscard]] constexpr bool waits_for_pages(MemoryPolicy asked) noexcept {
  return in_force(asked) != MemoryPolicy::device;
}

} // namespace rtexec::config
