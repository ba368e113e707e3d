// The user's request to stop: SIGINT, SIGTERM or SIGHUP.
#pragma once

#include <array>
#include <csignal>
#include <functional>

namespace rtexec::command {

/// Handles the signals while the object lives. The first signal is a request to stop. Another signal at least 0.2 s
/// later ends the program by the signal's default action. SIGHUP is still ignored if it was ignored before (nohup). One
/// object at a time.
class StopRequest {
 public:
  /// The signal handler calls `on_request` on any thread. `on_request` must therefore be async-signal-safe.
  explicit StopRequest(std::function<void()> on_request = {});
  ~StopRequest();
  StopRequest(const StopRequest&) = delete;
  StopRequest& operator=(const StopRequest&) = delete;

  /// True if a stop was requested. Any thread.
  [[nodiscard]] bool asked() const;

 private:
  static constexpr std::array signals{SIGINT, SIGTERM, SIGHUP};
  static void handle(int signal);

  std::function<void()> on_request_;
  std::array<struct sigaction, signals.size()> before_{};
};

} // namespace rtexec::command
