// Which buffers of a device a memory policy stands for.
#pragma once

#include <rtexec/device.hpp>
#include <rtexec/choices.hpp>

#include <utility>

namespace rtexec::tasks {

/// Of what host and kernels see; D/H begins as D.
[[nodiscard]] constexpr BufferKind kind_of(MemoryPolicy policy) {
  switch (policy) {
  case MemoryPolicy::automatic:
  case MemoryPolicy::switching:
  case MemoryPolicy::device: return BufferKind::device;
  case MemoryPolicy::managed: return BufferKind::managed;
  case MemoryPolicy::host: return BufferKind::host;
  }
  std::unreachable();
}

} // namespace rtexec::tasks
