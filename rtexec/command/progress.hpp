// Progress of long work, on a terminal or in a log, and the wish of the user to end it.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>

namespace rtexec::command {

/// From here on SIGINT and SIGTERM are wishes that Progress tells of.
void stop_on_signals();
/// Whether such a wish came.
[[nodiscard]] bool stop_wanted();

/// A line of progress that is drawn over on a terminal, and printed every tenth of the way elsewhere.
class Progress {
 public:
  explicit Progress(std::ostream& out);

  /// `what` is on its way: "measuring". False when the user wants it to stop.
  bool operator()(const std::string& what, std::uint64_t done, std::uint64_t wanted, const std::string& unit);

 private:
  std::ostream& out_;
  bool terminal_;
  std::string what_;
  std::uint64_t shown_ = UINT64_MAX;
};

} // namespace rtexec::command
