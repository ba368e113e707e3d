// Identifies the process that owns a file, a session, or a page in shared memory, all of which remain when the process
// is killed.
#pragma once

#include <cstdint>

namespace rtexec::config {

struct Process {
  std::uint32_t number = 0;
  /// The start time, in clock ticks since the machine's start. The start time distinguishes processes that had the same
  /// number at different times
  std::uint64_t start = 0;
  std::uint64_t name_space = 0; // the PID namespace of `number`; 0: unknown

  [[nodiscard]] static Process self();
  /// True if `number` was assigned in the PID namespace of the calling process.
  [[nodiscard]] bool of_this_namespace() const;
  /// True if the process is alive. Also true for a process in another PID namespace, because its state is unknown.
  [[nodiscard]] bool alive() const;
};

} // namespace rtexec::config
