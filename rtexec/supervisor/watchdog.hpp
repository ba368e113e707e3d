// The hardware watchdog. The watchdog resets the machine if the supervisor stops feeding it, for example because the
// supervisor died. Only disarm() stops the watchdog. If the kernel was built with WATCHDOG_NOWAYOUT, the watchdog
// cannot be stopped. A regular file can replace the device in tests: each feed() adds a byte, and disarm() adds a 'V'.
#pragma once

#include "rtexec/supervisor/supervisor_calls.hpp"

#include <string>

namespace rtexec::supervisor {

class Watchdog {
 public:
  explicit Watchdog(const Kernel& kernel = linux_kernel()) : kernel_(kernel) {}
  /// Does not disarm the watchdog.
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// Arms the watchdog with a timeout of at least `seconds`, if the device supports it. Returns an empty text, or a
  /// text on the failure. After a failure, the watchdog is not armed by this call.
  [[nodiscard]] std::string arm(const std::string& device, int seconds);
  /// Returns the timeout that the device reported when it was armed. feed() must be called at shorter intervals.
  [[nodiscard]] int seconds() const { return seconds_; }
  [[nodiscard]] bool armed() const { return file_ >= 0; }
  /// Feeds the watchdog, which restarts its timeout. Returns an empty text, or a text on the failure.
  [[nodiscard]] std::string feed();
  /// Disarms the watchdog at an orderly end. Returns an empty text, or the reason why it remains armed.
  [[nodiscard]] std::string disarm();

 private:
  [[nodiscard]] std::string set_up(int seconds);
  [[nodiscard]] std::string put(char byte);
  void close();

  const Kernel& kernel_;
  std::string device_;
  int file_ = -1;
  int seconds_ = 0;
  bool can_end_ = true;
};

} // namespace rtexec::supervisor
