// The wish of the user that the work end: SIGINT, SIGTERM or SIGHUP.
#pragma once

#include <array>
#include <csignal>
#include <functional>

namespace rtexec::command {

/// While it lives, the first of these signals is a request; one that comes 0.2 s later or more ends the program as it
/// would have without. SIGHUP stays ignored where it was (nohup). One at a time.
class StopRequest {
 public:
  /// `on_request` is called by the signal's handler, in any thread: it does what is async-signal-safe only.
  explicit StopRequest(std::function<void()> on_request = {});
  ~StopRequest();
  StopRequest(const StopRequest&) = delete;
  StopRequest& operator=(const StopRequest&) = delete;

  /// Any thread.
  [[nodiscard]] bool asked() const;

 private:
  static constexpr std::array signals{SIGINT, SIGTERM, SIGHUP};
  static void handle(int signal);

  std::function<void()> on_request_;
  std::array<struct sigaction, signals.size()> before_{};
};

} // namespace rtexec::command
