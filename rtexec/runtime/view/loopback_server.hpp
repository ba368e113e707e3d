// An HTTP server on 127.0.0.1, for a browser on the same machine or behind a tunnel to it. One thread does all the work
// and waits for no client. A client that does not send a request, or does not read its answer, within five seconds is
// disconnected. Beyond 32 connections new ones are closed. Requests to a host name other than the loopback's are
// refused, so that no web page can reach this server by a name of its own.
//
// Threads: one calls run(), which calls the given functions; any may call stop().
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
  /// Answers a GET of `path`, which excludes the query after a question mark.
  using Respond = std::function<Answer(std::string_view path)>;

  /// Opens the server; port 0 selects a free one. Returns refused if the port cannot be used, with the reason and a
  /// remedy.
  [[nodiscard]] static Result<std::unique_ptr<LoopbackServer>> open(std::uint16_t port, Respond respond);
  ~LoopbackServer();
  LoopbackServer(const LoopbackServer&) = delete;
  LoopbackServer& operator=(const LoopbackServer&) = delete;

  [[nodiscard]] std::string url() const;
  /// Serves until stop(), and calls `also` every `interval`. An exception of either function costs a client its
  /// connection.
  void run(Duration interval, std::function<void()> also);
  void stop();

 private:
  class Impl;
  explicit LoopbackServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

} // namespace rtexec::view
