// Who started this program and watches over it: systemd, or the supervisor of an image. It is told by datagrams to the
// socket that the environment names (NOTIFY_SOCKET, a path or an abstract name; sd_notify(3) describes the protocol),
// and wants to hear from the program every so often (WATCHDOG_USEC), or ends it.
//
// Owns its socket. tell() by one thread at a time, without real-time priority; it never blocks.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/units.hpp>
#include "config/base/descriptor.hpp"

#include <optional>
#include <string>

namespace rtexec::executive {

class ServiceManager {
 public:
  /// Nothing where no manager asks to be told. refused: what the environment says is no address, or nobody has it.
  [[nodiscard]] static Result<std::optional<ServiceManager>> of_environment();

  /// Lines "NAME=VALUE". refused: the manager is gone, or takes nothing.
  [[nodiscard]] Result<> tell(const std::string& lines) const;
  /// After so long without WATCHDOG=1 it ends the program; absent: it never does.
  [[nodiscard]] std::optional<Duration> patience() const { return patience_; }

 private:
  ServiceManager() = default;
  std::string address_; // a path, or a zero and an abstract name
  std::optional<Duration> patience_;
  config::Descriptor socket_;
};

} // namespace rtexec::executive
