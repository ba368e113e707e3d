// Limits the number of log lines that the clients of one user may cause: a burst of lines, then one line per pause.
// Without a limit, a client that connects in a loop and is refused each time fills the disk. One thread.
#pragma once

#include <rtexec/units.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <sys/types.h>

namespace rtexec::daemon {

class LineLimit {
 public:
  static constexpr int burst = 1000; // number of lines
  static constexpr Duration pause = std::chrono::milliseconds(10);

  /// Requests permission to write a line caused by `user`. Returns the number of omitted lines before this line.
  /// Returns nullopt if this line must be omitted too.
  [[nodiscard]] std::optional<std::uint64_t> ask(uid_t user, Instant now);

 private:
  struct Account {
    Instant paid_up_to{}; // the instant at which the pauses for all lines written so far end
    std::uint64_t left_out = 0;
  };
  std::map<uid_t, Account> accounts_;
};

} // namespace rtexec::daemon
