// The hardware watchdog: it resets the machine if nobody feeds it, also after the supervisor died. Only disarm() stops
// it, unless the kernel was built with WATCHDOG_NOWAYOUT. A regular file can replace the device: each feeding adds a
// byte, and disarm() adds a 'V'.
#pragma once

#include "rtexec/supervisor/supervisor_calls.hpp"

#include <string>

namespace rtexec::supervisor {

class Watchdog {
 public:
  explicit Watchdog(const Kernel& kernel = linux_kernel()) : kernel_(kernel) {}
  /// Leaves the watchdog armed.
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// Arms the watchdog, with a timeout of at least `seconds` if the device can. Returns an empty text, or what failed;
  /// the watchdog is then not armed by this call.
  [[nodiscard]] std::string arm(const std::string& device, int seconds);
  /// Returns the timeout that the device reported when it was armed. feed() must be called more often.
  [[nodiscard]] int seconds() const { return seconds_; }
  [[nodiscard]] bool armed() const { return file_ >= 0; }
  /// Feeds the watchdog. Returns an empty text, or what failed.
  [[nodiscard]] std::string feed();
  /// Stops the watchdog at an orderly end. Returns an empty text, or why it stays armed.
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
