// The service manager that started this program and supervises it: systemd, or the supervisor of rtexec's system images
// (rtexec/supervisor). The program notifies it by datagrams to the socket that the environment names (NOTIFY_SOCKET, a
// path or an abstract name; sd_notify(3) describes the protocol). If WATCHDOG_USEC (in microseconds) is set, the
// manager ends the program if it gets no message WATCHDOG=1 for this time.
//
// The object owns its socket. One thread at a time, without real-time priority, calls tell(), which never blocks.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/units.hpp>
#include "config/base/descriptor.hpp"

#include <optional>
#include <string>

namespace rtexec::executive {

class ServiceManager {
 public:
  /// Returns the manager that the environment names, or nullopt if the environment names no manager. Returns refused if
  /// the address is invalid, or no process listens at the address.
  [[nodiscard]] static Result<std::optional<ServiceManager>> of_environment();

  /// Sends lines "NAME=VALUE" to the manager. Returns refused if the manager is gone, or does not accept the message.
  [[nodiscard]] Result<> tell(const std::string& lines) const;
  /// Returns the manager's timeout: the time without WATCHDOG=1 after which the manager ends the program. Returns
  /// nullopt if the manager has no timeout.
  [[nodiscard]] std::optional<Duration> timeout() const { return timeout_; }

 private:
  ServiceManager() = default;
  std::string address_; // a path, or a zero byte followed by an abstract name
  std::optional<Duration> timeout_;
  config::Descriptor socket_;
};

} // namespace rtexec::executive
