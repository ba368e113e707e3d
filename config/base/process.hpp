// Identifies the process to which something belongs: a file, a session, or a page in shared memory. These outlive a
// process that is killed.
#pragma once

#include <cstdint>

namespace rtexec::config {

struct Process {
  std::uint32_t number = 0;
  /// In clock ticks since the machine's start; it tells apart processes that had the same number
  std::uint64_t start = 0;
  std::uint64_t name_space = 0; // the PID namespace of `number`; 0: unknown

  [[nodiscard]] static Process self();
  /// True if `number` means the same process here.
  [[nodiscard]] bool of_this_namespace() const;
  /// True if the process is alive. For a process in another namespace that is unknown, and true is assumed.
  [[nodiscard]] bool alive() const;
};

} // namespace rtexec::config
