// Deep idle states of a core take up to hundreds of microseconds to leave. While this lives, the kernel uses none of them.
#pragma once

#include "config/result.hpp"
#include "hal/linux/resources.hpp"

namespace rtexec::hal {

class ShallowIdle {
 public:
  /// Asks the kernel's power management for a wake-up latency of 0 us and reads the request back. unsupported where the kernel
  /// has no such control (there are then no idle states to leave, as in most virtual machines).
  [[nodiscard]] static Result<ShallowIdle> hold();

 private:
  FileDescriptor file_; // the request lasts as long as it is open
};

} // namespace rtexec::hal
