// Maps memory policies (D: device memory, M: managed memory, H: host memory) to kinds of device buffers.
#pragma once

#include <rtexec/device.hpp>
#include <rtexec/choices.hpp>

#include <utility>

namespace rtexec::tasks {

/// Returns the kind of a buffer that both the host and kernels access. A task with policy D/H (D or H, chosen for each
/// job) starts with the buffers of D.
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
