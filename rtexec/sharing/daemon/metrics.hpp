// Serves the daemon's metrics to Prometheus: as text by HTTP/1.0, GET /metrics only, on the address in the daemon's
// file. A request must name this machine by an address, as localhost or by its host name.
//
// Runs in the loop of the server's thread, at ordinary priority: no call waits. Everything is limited: 4 KB of request,
// 2 s for each connection, 32 connections at once. A new connection beyond these replaces the oldest.
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
  /// Listens at `address`, for example "127.0.0.1:9464": an IPv4 address, and a port (0: any free one). Returns
  /// bad_input if the text is no such address, refused if the system refuses it.
  [[nodiscard]] static Result<Metrics> open(const std::string& address);

  /// Appends the descriptors that poll() has to watch.
  void watch(std::vector<pollfd>& watched, Instant now) const;
  /// Serves the descriptors that watch() appended, with the results of poll(). Calls `text` once for each answer.
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
  /// Receives and sends as much as possible without waiting. Returns false if the connection is to be closed.
  [[nodiscard]] static bool go_on(Connection& connection, const std::function<std::string()>& text);
  void accept(Instant now, const std::function<std::string()>& text);

  config::Descriptor listener_;
  Instant listens_from_{};
  std::vector<Connection> connections_;
};

} // namespace rtexec::daemon
