// Progress of long work, on a terminal or in a log.
#pragma once

#include "rtexec/command/stop_request.hpp"

#include <cstdint>
#include <ostream>
#include <string>

namespace rtexec::command {

/// A line of progress that is drawn over on a terminal, and printed every tenth of the way elsewhere.
class Progress {
 public:
  /// `stop`, where the work can be stopped, outlives it.
  explicit Progress(std::ostream& out, const StopRequest* stop = nullptr);

  /// `what` is on its way: "measuring". False when the user wants it to stop.
  bool operator()(const std::string& what, std::uint64_t done, std::uint64_t wanted, const std::string& unit);

 private:
  std::ostream& out_;
  const StopRequest* stop_;
  bool terminal_;
  std::string what_;
  std::uint64_t shown_ = UINT64_MAX;
};

} // namespace rtexec::command
