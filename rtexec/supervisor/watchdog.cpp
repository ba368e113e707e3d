#include "rtexec/supervisor/watchdog.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <linux/watchdog.h>
#include <utility>

namespace rtexec::supervisor {

Watchdog::~Watchdog() { close(); }

void Watchdog::close() {
  if (file_ >= 0) kernel_.close(std::exchange(file_, -1));
}

std::string Watchdog::arm(const std::string& device, int seconds) {
  device_ = device;
  file_ = kernel_.open(device.c_str(), O_WRONLY | O_CLOEXEC | O_APPEND | O_NONBLOCK, 0);
  if (file_ < 0) return device + ": " + std::strerror(errno);
  std::string problem = set_up(seconds);
  if (problem.empty()) problem = feed();
  if (!problem.empty()) static_cast<void>(disarm());
  return problem;
}

/// Sets the timeout. If the device has a fixed timeout, uses this timeout. If the device does not report its timeout,
/// returns an error, because the device could reset a healthy machine.
std::string Watchdog::set_up(int seconds) {
  seconds_ = seconds;
  if (kernel_.is_plain(file_)) return {};
  watchdog_info info{};
  if (kernel_.control(file_, WDIOC_GETSUPPORT, &info) != 0)
    return device_ + " is not a watchdog: " + std::strerror(errno);
  can_end_ = (info.options & WDIOF_MAGICCLOSE) != 0;
  if ((info.options & WDIOF_SETTIMEOUT) != 0 && kernel_.control(file_, WDIOC_SETTIMEOUT, &seconds) != 0)
    return device_ + " rejects a timeout of " + std::to_string(seconds_) + " s: " + std::strerror(errno);
  if (kernel_.control(file_, WDIOC_GETTIMEOUT, &seconds_) == 0 && seconds_ > 0) return {};
  return device_ + " does not report its timeout";
}

std::string Watchdog::feed() { return put('\0'); }

std::string Watchdog::disarm() {
  if (file_ < 0) return {};
  std::string problem = put('V');
  close();
  if (problem.empty() && !can_end_) problem = device_ + " cannot be disarmed, and will reset the machine";
  return problem;
}

std::string Watchdog::put(char byte) {
  if (file_ < 0) return {};
  while (kernel_.write(file_, &byte, 1) != 1)
    if (errno != EINTR) return device_ + " cannot be triggered: " + std::strerror(errno);
  return {};
}

} // namespace rtexec::supervisor
