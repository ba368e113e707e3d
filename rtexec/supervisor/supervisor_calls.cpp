#include "rtexec/supervisor/supervisor_calls.hpp"

#include <cstdio>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace rtexec::supervisor {

const Kernel& linux_kernel() noexcept {
  static constexpr Kernel real{
      .open = [](const char* path, int flags, mode_t mode) { return ::open(path, flags, mode); },
      .read = [](int file, void* to, std::size_t size) { return ::read(file, to, size); },
      .write = [](int file, const void* from, std::size_t size) { return ::write(file, from, size); },
      .sync = [](int file) { return ::fsync(file); },
      .close = [](int file) { return ::close(file); },
      .rename = [](const char* from, const char* to) { return std::rename(from, to); },
      .control = [](int file, unsigned long request, void* argument) { return ::ioctl(file, request, argument); },
      .is_plain =
          [](int file) {
            struct stat status {};
            return ::fstat(file, &status) == 0 && S_ISREG(status.st_mode);
          },
  };
  return real;
}

} // namespace rtexec::supervisor
