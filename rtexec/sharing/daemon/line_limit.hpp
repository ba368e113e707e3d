// Limits the number of log lines that the clients of one user may cause: a burst, then one for each pause. Without a
// limit, a client that connects and is refused in a loop fills the disk. One thread.
#pragma once

#include <rtexec/units.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <sys/types.h>

namespace rtexec::daemon {

class LineLimit {
 public:
  static constexpr int burst = 1000; // lines
  static constexpr Duration pause = std::chrono::milliseconds(10);

  /// Requests a line because of `user`. Returns the number of lines left out before it, or nullopt if this one is left
  /// out.
  [[nodiscard]] std::optional<std::uint64_t> ask(uid_t user, Instant now);

 private:
  struct Account {
    Instant paid_up_to{}; // when the last line would be written at a rate of one for each pause
    std::uint64_t left_out = 0;
  };
  std::map<uid_t, Account> accounts_;
};

} // namespace rtexec::daemon
