// Progress of long work, on standard error: what is printed there is no result.
#pragma once

#include "rtexec/cli/terminal/stop_request.hpp"
#include "rtexec/cli/text/time_left.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace rtexec::command {

/// A bar that is drawn over on a terminal, and a line every tenth of the way elsewhere, with the time left.
class Progress {
 public:
  /// `stop`, where the work can be stopped, outlives it.
  explicit Progress(const StopRequest* stop = nullptr);
  /// A bar that is not full stays as it is; what is written next begins on a line of its own.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `what` is on its way: "measuring". Where the work does not know itself how long it will go on, that is judged by
  /// its pace. False when the user wants it to stop.
  bool operator()(const std::string& what, std::uint64_t done, std::uint64_t wanted, const std::string& unit,
                  std::optional<Duration> left = {});
  /// Takes the bar off its line, on which something else is about to be written.
  void erase();

 private:
  void draw() const;

  const StopRequest* stop_;
  std::string what_, bar_;
  report::TimeLeft pace_;
  std::uint64_t shown_ = UINT64_MAX; // tenths
  bool drawn_ = false;               // and its line has not ended
};

} // namespace rtexec::command
