// Serves the daemon's metrics to Prometheus as text by HTTP/1.0, with GET /metrics only, on the address in the
// daemon's file. A request must name this machine by a numeric address, as localhost or by its host name.
//
// Runs in the loop of the server's thread, at ordinary priority. No call waits. The limits are 4 KB for a request, 2 s
// for a connection, and 32 connections at once. A new connection above the limit replaces the oldest connection.
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

/// Returns the metrics in Prometheus's text format, version 0.0.4: base units, a HELP and a TYPE for each name.
[[nodiscard]] std::string metrics_text(const ServerStatus& status);

class Metrics {
 public:
  /// Listens at `address`, an IPv4 address and a port, such as "127.0.0.1:9464". Port 0 selects any free port. Returns
  /// bad_input if the text is no such address, and refused if the system does not allow listening there.
  [[nodiscard]] static Result<Metrics> open(const std::string& address);

  /// Appends the descriptors that poll() must watch. `now` is needed for the timeouts of connections.
  void watch(std::vector<pollfd>& watched, Instant now) const;
  /// Handles the results of poll() for the descriptors that watch() appended. Calls `text` once for each answer.
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
  /// Receives and sends as much as possible without waiting. Returns false if the connection must be closed.
  [[nodiscard]] static bool go_on(Connection& connection, const std::function<std::string()>& text);
  void accept(Instant now, const std::function<std::string()>& text);

  config::Descriptor listener_;
  Instant listens_from_{};
  std::vector<Connection> connections_;
};

} // namespace rtexec::daemon
