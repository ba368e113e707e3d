// The executive as a child process, and the socket on which it reports its state (sd_notify(3) describes the protocol).
#pragma once

#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace rtexec::supervisor {

/// The socket on which the executive reports its state. The socket is in a separate folder that no other user can
/// enter. Therefore, no other user can use the socket's name or fill its queue. The destructor removes the socket and
/// the folder.
class Ear {
 public:
  Ear() = default;
  ~Ear();
  Ear(const Ear&) = delete;
  Ear& operator=(const Ear&) = delete;
  /// Opens the socket. Returns an empty text, or a text on the failure.
  [[nodiscard]] std::string open();
  /// Returns the next message of `process`, or nullopt if no message is queued. Ignores messages of other processes.
  [[nodiscard]] std::optional<std::string> hear(pid_t process) const;
  [[nodiscard]] int file() const { return file_; }
  /// Returns the name of the socket, for the environment variable NOTIFY_SOCKET.
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  int file_ = -1;
  std::string folder_, name_;
};

struct Launch {
  std::vector<std::string> command;
  std::string ear;       // name of the socket for reports; empty: no reports
  long microseconds = 0; // maximum time between two heartbeats
  int when_orphaned = 0; // signal to the child if its parent dies; 0: none
};
/// Starts a child process and returns its ID. If that fails, returns a negative number and sets errno. If the program
/// cannot be executed, the child ends with exit code 127.
[[nodiscard]] pid_t launch(const Launch& launch);

} // namespace rtexec::supervisor
