// The executive as a child process, and the socket on which it is heard (sd_notify(3) describes the protocol).
#pragma once

#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace rtexec::supervisor {

/// The socket on which the executive tells how it is. It lies in a folder of its own that no other user can enter, so
/// that nobody takes its name and nobody fills its queue; both are removed at the end.
class Ear {
 public:
  Ear() = default;
  ~Ear();
  Ear(const Ear&) = delete;
  Ear& operator=(const Ear&) = delete;
  /// Empty, or what failed.
  [[nodiscard]] std::string open();
  /// What `process` has told, and nobody else; nothing: there is no more.
  [[nodiscard]] std::optional<std::string> hear(pid_t process) const;
  [[nodiscard]] int file() const { return file_; }
  /// As NOTIFY_SOCKET has it.
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  int file_ = -1;
  std::string folder_, name_;
};

struct Launch {
  std::vector<std::string> command;
  std::string ear;       // empty: nobody listens
  long microseconds = 0; // within which a beat is expected
  int when_orphaned = 0; // signal that it gets when its parent dies
};
/// Negative and errno: it was not started. What cannot be executed ends with 127.
[[nodiscard]] pid_t launch(const Launch& launch);

} // namespace rtexec::supervisor
