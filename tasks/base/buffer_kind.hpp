// Maps memory policies to buffers of a device.
#pragma once

#include <rtexec/device.hpp>
#include <rtexec/choices.hpp>

#include <utility>

namespace rtexec::tasks {

/// Returns the kind of a buffer that both host and kernels use. For D/H it is that of D, with which D/H begins.
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
