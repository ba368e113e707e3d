// Shows the progress of long work. The progress is printed to standard error, because it is no result.
#pragma once

#include "rtexec/cli/terminal/stop_request.hpp"
#include "rtexec/cli/text/time_left.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace rtexec::command {

/// The progress with the time left. On a terminal it is a bar that is redrawn in place, elsewhere a line for each
/// tenth of the work.
class Progress {
 public:
  /// `stop` must outlive this object; null if the work cannot be stopped.
  explicit Progress(const StopRequest* stop = nullptr);
  /// Leaves an incomplete bar on the screen. Later output begins on a new line.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Shows the progress of `what`, for example "measuring". If `left` is absent, estimates the time left from the
  /// progress so far. Returns false if the user wants the work to stop.
  bool operator()(const std::string& what, std::uint64_t done, std::uint64_t wanted, const std::string& unit,
                  std::optional<Duration> left = {});
  /// Erases the bar, so that other output can take its line.
  void erase();

 private:
  void draw() const;

  const StopRequest* stop_;
  std::string what_, bar_;
  report::TimeLeft pace_;
  std::uint64_t shown_ = UINT64_MAX; // last progress shown, in tenths of the work
  bool drawn_ = false;               // true: the bar's line has no line break yet
};

} // namespace rtexec::command
