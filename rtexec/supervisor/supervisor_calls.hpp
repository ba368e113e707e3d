// The system calls of the supervisor for files and the watchdog, as a table of functions. A test can make each function
// fail. The functions report failure like system calls: -1 and errno.
#pragma once

#include <cstddef>
#include <sys/types.h>

namespace rtexec::supervisor {

struct Kernel {
  int (*open)(const char* path, int flags, mode_t mode);
  ssize_t (*read)(int file, void* to, std::size_t size);
  ssize_t (*write)(int file, const void* from, std::size_t size);
  int (*sync)(int file);
  int (*close)(int file);
  int (*rename)(const char* from, const char* to);
  int (*control)(int file, unsigned long request, void* argument); // ioctl
  bool (*is_plain)(int file);                                      // true if it is a regular file
};

[[nodiscard]] const Kernel& linux_kernel() noexcept;

} // namespace rtexec::supervisor
