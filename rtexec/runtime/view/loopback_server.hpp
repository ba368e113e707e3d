// Answers HTTP on 127.0.0.1, for a browser on the same machine or behind a tunnel to it. One thread does all of it and
// waits for no client: who does not send a request, or does not read its answer, within five seconds is left, and
// beyond 32 connections new ones are closed. Requests to another host name than that of this machine's loopback are
// refused, so that no page of the web reaches it by a name of its own.
//
// Threads: run() on one, which calls what it was given; stop() on any.
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
  /// To a GET of `path`, without what follows a question mark.
  using Respond = std::function<Answer(std::string_view path)>;

  /// Port 0: one that is free. refused: the port cannot be had, why, and what to do.
  [[nodiscard]] static Result<std::unique_ptr<LoopbackServer>> open(std::uint16_t port, Respond respond);
  ~LoopbackServer();
  LoopbackServer(const LoopbackServer&) = delete;
  LoopbackServer& operator=(const LoopbackServer&) = delete;

  [[nodiscard]] std::string url() const;
  /// Until stop(), and every `interval` calls `also`. What either function throws costs a client its connection.
  void run(Duration interval, std::function<void()> also);
  void stop();

 private:
  class Impl;
  explicit LoopbackServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

} // namespace rtexec::view
