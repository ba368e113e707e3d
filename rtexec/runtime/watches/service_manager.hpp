// The manager that started this program and supervises it: systemd, or the supervisor of an image. It is notified by
// datagrams to the socket that the environment names (NOTIFY_SOCKET, a path or an abstract name; sd_notify(3) describes
// the protocol). If WATCHDOG_USEC is set, it expects a message within that time, and otherwise ends the program.
//
// Owns its socket. One thread at a time, without real-time priority, calls tell(), which never blocks.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/units.hpp>
#include "config/base/descriptor.hpp"

#include <optional>
#include <string>

namespace rtexec::executive {

class ServiceManager {
 public:
  /// Returns nullopt if the environment names no manager. Returns refused if it names no valid address, or no process
  /// listens there.
  [[nodiscard]] static Result<std::optional<ServiceManager>> of_environment();

  /// Sends lines "NAME=VALUE". Returns refused if the manager is gone, or accepts no message.
  [[nodiscard]] Result<> tell(const std::string& lines) const;
  /// Returns the time without WATCHDOG=1 after which the manager ends the program; nullopt: it never does.
  [[nodiscard]] std::optional<Duration> patience() const { return patience_; }

 private:
  ServiceManager() = default;
  std::string address_; // a path, or a zero and an abstract name
  std::optional<Duration> patience_;
  config::Descriptor socket_;
};

} // namespace rtexec::executive
