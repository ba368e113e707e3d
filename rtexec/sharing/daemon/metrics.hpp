// The daemon's numbers as Prometheus reads them: text by HTTP/1.0, GET /metrics and nothing else, on the address that
// the daemon's file names, to who names this machine by an address, as localhost or by its host name. Part of the loop
// of the server's thread, at ordinary priority: no call waits. Limits on everything: 4 KB of request, 32 connections at
// once, of which the oldest gives way to a new one, 2 s for each.
//
// One thread.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/units.hpp>
#include "config/base/descriptor.hpp"
#include "rtexec/sharing/daemon/status.hpp"

#include <cstddef>
#include <functional>
#include <poll.h>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rtexec::daemon {

/// In Prometheus's text format, version 0.0.4: base units, a HELP and a TYPE for each name.
[[nodiscard]] std::string metrics_text(const ServerStatus& status);

class Metrics {
 public:
  /// `address` is "127.0.0.1:9464": a number of IPv4, and a port (0: one that is free). bad_input: it is none; refused:
  /// it cannot be had.
  [[nodiscard]] static Result<Metrics> open(const std::string& address);

  /// Appends what is to be waited for.
  void watch(std::vector<pollfd>& watched, Instant now) const;
  /// With what watch() appended, as poll() has left it. `text` is called once for each answer.
  void serve(std::span<const pollfd> watched, Instant now, const std::function<std::string()>& text);
  [[nodiscard]] unsigned port() const;

 private:
  struct Connection {
    config::Descriptor socket;
    Instant until{};
    std::string request{}, answer{};
    std::size_t sent = 0;
  };
  explicit Metrics(config::Descriptor listener) : listener_(std::move(listener)) {}
  /// Receives and sends what does not wait; false: the connection is to be closed.
  [[nodiscard]] static bool go_on(Connection& connection, const std::function<std::string()>& text);
  void accept(Instant now, const std::function<std::string()>& text);

  config::Descriptor listener_;
  Instant listens_from_{};
  std::vector<Connection> connections_;
};

} // namespace rtexec::daemon
