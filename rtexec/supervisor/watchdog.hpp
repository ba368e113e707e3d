// The hardware's watchdog: it resets the machine where nobody feeds it, also when the supervisor dies. Only disarm()
// ends it, and not where the kernel was built with WATCHDOG_NOWAYOUT. A plain file stands in for one: it grows with
// each feeding, and ends in a 'V' once disarmed.
#pragma once

#include "rtexec/supervisor/supervisor_calls.hpp"

#include <string>

namespace rtexec::supervisor {

class Watchdog {
 public:
  explicit Watchdog(const Kernel& kernel = linux_kernel()) : kernel_(kernel) {}
  /// Leaves it armed.
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// Arms it, for at least `seconds` where the device can. Empty, or what failed: then nothing is armed by this.
  [[nodiscard]] std::string arm(const std::string& device, int seconds);
  /// As the device told, once armed: it is to be fed more often than that.
  [[nodiscard]] int seconds() const { return seconds_; }
  [[nodiscard]] bool armed() const { return file_ >= 0; }
  /// Empty, or what failed.
  [[nodiscard]] std::string feed();
  /// Of an orderly end. Empty, or why it goes on.
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
