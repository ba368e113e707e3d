// Which process something belongs to: a file, a session, a page in shared memory that outlive it when it is killed.
#pragma once

#include <cstdint>

namespace rtexec::config {

struct Process {
  std::uint32_t number = 0;
  /// In clock ticks since the machine's start: tells apart processes that had the same number
  std::uint64_t start = 0;
  std::uint64_t name_space = 0; // in which `number` is its number; 0: unknown

  [[nodiscard]] static Process self();
  /// Whether `number` means the same process here.
  [[nodiscard]] bool of_this_namespace() const;
  /// Of a process in another namespace than ours this is not known, and taken for granted.
  [[nodiscard]] bool alive() const;
};

} // namespace rtexec::config
