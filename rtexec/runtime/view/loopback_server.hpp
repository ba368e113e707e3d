// An HTTP server on 127.0.0.1, for browsers on the same machine, or at the other end of a tunnel to this machine. One
// thread serves all clients and waits for no client. The server disconnects a client that does not send a request, or
// does not read the response, within five seconds. While 32 connections exist, new connections are closed at once.
// Requests whose host is not a loopback name are refused. So a foreign web page cannot reach this server under the
// page's own host name (DNS rebinding).
//
// Threads: one thread calls run(), which calls `also` and the Respond function. Any thread may call stop().
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/units.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace rtexec::view {

struct Answer {
  unsigned status = 200;
  std::string_view type = "text/plain"; // a literal
  std::string body;
};

class LoopbackServer {
 public:
  /// A function that returns the response to a GET of `path`. `path` excludes the query, which begins at a question
  /// mark.
  using Respond = std::function<Answer(std::string_view path)>;

  /// Opens the server. Port 0 selects a free port. Returns refused if the port cannot be used, with the reason and a
  /// remedy.
  [[nodiscard]] static Result<std::unique_ptr<LoopbackServer>> open(std::uint16_t port, Respond respond);
  ~LoopbackServer();
  LoopbackServer(const LoopbackServer&) = delete;
  LoopbackServer& operator=(const LoopbackServer&) = delete;

  [[nodiscard]] std::string url() const;
  /// Serves clients until stop(), and calls `also` every `interval`. If `also` or the Respond function throws, at most
  /// one client loses its connection.
  void run(Duration interval, std::function<void()> also);
  void stop();

 private:
  class Impl;
  explicit LoopbackServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

} // namespace rtexec::view
